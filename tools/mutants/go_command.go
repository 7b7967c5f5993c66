package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	// realGo names the variable of the environment with the path of the go command, and trouble the one with the file in which this
	// program notes what went wrong with the machine rather than with a test.
	realGo  = "OPENINTENT_MUTANTS_GO"
	trouble = "OPENINTENT_MUTANTS_TROUBLE"
	// notViableCode is the exit code by which gremlins takes a package that does not compile for no mutant at all; go's own is that of a
	// failed test.
	notViableCode = 2
)

var (
	// unbuilt is what `go test` says of a package that does not compile, and uncompiled how the compiler says why.
	unbuilt    = regexp.MustCompile(`(?m)^FAIL\s+\S+ \[(build|setup) failed\]`)
	uncompiled = regexp.MustCompile(`(?m)^\S+\.go:\d+:\d+: `)
	// troubled is what a machine says that has no room. It proves nothing of the code.
	troubled = regexp.MustCompile(`no space left on device|cannot allocate memory|signal: killed`)
)

// goCommand stands for the go command while gremlins runs: it calls that, and mends two things.
//
// Gremlins asks the coverage profile whether a mutant is reached. There the conditions of a switch's cases are in no block, so gremlins
// would leave them all out, and many rules are such conditions. And it takes a mutant that does not compile for one that a test has killed.
func goCommand(arguments []string) (code int) {
	if len(arguments) > 0 && arguments[0] == "test" {
		// Nothing debugs these tests, and their code was vetted before.
		arguments = slices.Insert(arguments, 1, "-vet=off", "-ldflags=-s", "-gcflags=all=-dwarf=false")
		if program, err := os.Executable(); err == nil {
			arguments = slices.Insert(arguments, 1, "-exec="+program)
		}
	}
	command := exec.Command(os.Getenv(realGo), arguments...)
	output, err := command.CombinedOutput()
	_, _ = os.Stdout.Write(output)
	var failed *exec.ExitError
	if errors.As(err, &failed) && isTrouble(output) {
		if err := os.WriteFile(os.Getenv(trouble), output, 0o600); err != nil {
			fmt.Fprintln(os.Stderr, "mutants:", err)
		}
	}
	switch {
	case errors.As(err, &failed) && unbuilt.Match(output):
		return notViableCode
	case errors.As(err, &failed):
		return failed.ExitCode()
	case err != nil:
		fmt.Fprintln(os.Stderr, "mutants:", err)
		return notViableCode
	}
	at := slices.Index(arguments, "-coverprofile")
	if at < 0 {
		return 0
	}
	if err := addCases(arguments[at+1], "."); err != nil {
		fmt.Fprintln(os.Stderr, "mutants: the coverage of cases:", err)
		return 1
	}
	return 0
}

// isTrouble reports whether tests failed, or could not be built, for no reason that is in the code.
func isTrouble(output []byte) bool {
	return troubled.Match(output) || unbuilt.Match(output) && !uncompiled.Match(output)
}

// A line of a coverage profile: the file by its package, where the block begins and ends, its statements, and how often it ran.
var block = regexp.MustCompile(`(?m)^(\S+\.go):(\d+)\.(\d+),(\d+)\.(\d+) \d+ (\d+)$`)

// span is where a block, or the condition of a case, begins and ends.
type span struct{ fromLine, fromColumn, toLine, toColumn int }

func (s span) has(p token.Position) bool {
	return (s.fromLine < p.Line || s.fromLine == p.Line && s.fromColumn <= p.Column) &&
		(p.Line < s.toLine || p.Line == s.toLine && p.Column <= s.toColumn)
}

// addCases adds the conditions of cases to a coverage profile of the module at root: those of each switch that ran.
func addCases(profile, root string) error {
	content, err := os.ReadFile(profile)
	if err != nil {
		return err
	}
	module, err := moduleOf(root)
	if err != nil {
		return err
	}
	ran := make(map[string][]span)
	for _, match := range block.FindAllSubmatch(content, -1) {
		if string(match[6]) != "0" {
			var s span
			_, _ = fmt.Sscan(string(bytes.Join(match[2:6], []byte(" "))), &s.fromLine, &s.fromColumn, &s.toLine, &s.toColumn)
			ran[string(match[1])] = append(ran[string(match[1])], s)
		}
	}
	for name, spans := range ran {
		cases, err := casesOf(filepath.Join(root, strings.TrimPrefix(name, module+"/")), spans)
		if err != nil {
			return err
		}
		for _, c := range cases {
			content = fmt.Appendf(content, "%s:%d.%d,%d.%d 1 1\n", name, c.fromLine, c.fromColumn, c.toLine, c.toColumn)
		}
	}
	return os.WriteFile(profile, content, 0o600)
}

func moduleOf(root string) (string, error) {
	content, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(content), "\n")
	return strings.TrimSpace(strings.TrimPrefix(line, "module ")), nil
}

// casesOf returns where the conditions of cases are, of those switches in a file that begin in a block that ran.
func casesOf(file string, ran []span) (cases []span, err error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, nil, 0)
	if err != nil {
		return nil, err
	}
	ast.Inspect(parsed, func(node ast.Node) bool {
		choice, is := node.(*ast.SwitchStmt)
		if !is || !slices.ContainsFunc(ran, func(s span) bool { return s.has(files.Position(choice.Switch)) }) {
			return true
		}
		for _, clause := range choice.Body.List {
			for _, condition := range clause.(*ast.CaseClause).List {
				from, to := files.Position(condition.Pos()), files.Position(condition.End())
				cases = append(cases, span{from.Line, from.Column, to.Line, to.Column})
			}
		}
		return true
	})
	return cases, nil
}
