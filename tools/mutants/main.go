package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"openintent/tools/worktree"
)

func main() {
	switch {
	case filepath.Base(os.Args[0]) == "go":
		os.Exit(goCommand(os.Args[1:]))
	case os.Getenv(realGo) != "": // the go command runs the tests with this program
		os.Exit(testCommand(os.Args[1:], mostMemory))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	gremlins := flag.String("gremlins", "", "the built gremlins")
	flag.Parse()
	root, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	known, err := readEqual(filepath.Join(root, "tools/mutants/equal.yaml"))
	if err != nil {
		return err
	}
	m, clean, err := prepare(ctx, *gremlins, root)
	if err != nil {
		return err
	}
	defer clean()
	failed := false
	for _, t := range chosen(flag.Args()) {
		began := time.Now()
		found, err := m.mutate(ctx, t)
		if err != nil {
			return err
		}
		text, sound := describe(t, found, known)
		fmt.Printf("%s (%s)\n", text, time.Since(began).Round(time.Second))
		failed = failed || !sound
	}
	if failed {
		return errors.New("some mutants live that equal.yaml does not explain, or it explains some that do not live")
	}
	return nil
}

// prepare copies the code, and puts this program as go on a PATH for gremlins.
func prepare(ctx context.Context, gremlins, root string) (m mutator, clean func(), err error) {
	program, err := os.Executable()
	if err != nil {
		return m, nil, err
	}
	compiler, err := exec.LookPath("go")
	if err != nil {
		return m, nil, err
	}
	if m.gremlins, err = filepath.Abs(gremlins); err != nil {
		return m, nil, err
	}
	if m.copy, err = worktree.Copy(ctx, root, "openintent-mutants-"); err != nil {
		return m, nil, err
	}
	if m.work, err = os.MkdirTemp("", "openintent-mutants-work-"); err != nil {
		return m, nil, errors.Join(err, os.RemoveAll(m.copy))
	}
	clean = func() { _, _ = os.RemoveAll(m.copy), os.RemoveAll(m.work) }
	commands := filepath.Join(m.work, "commands")
	m.path = commands + string(filepath.ListSeparator) + os.Getenv("PATH")
	err = errors.Join(os.Setenv(realGo, compiler), os.Mkdir(commands, 0o755), os.Symlink(program, filepath.Join(commands, "go")))
	if err != nil {
		clean()
		return m, nil, err
	}
	return m, clean, nil
}

// describe says what became of a target's mutants. It is sound if none lives but the equal ones, and these do.
func describe(t target, found []mutant, known []equal) (text string, sound bool) {
	counts, sound := make(map[string]int), true
	var lines strings.Builder
	explained := 0
	for _, m := range found {
		counts[m.status]++
		if m.status != lived {
			continue
		}
		if slices.ContainsFunc(known, func(e equal) bool { return e.is(m) }) {
			explained++
			continue
		}
		sound = false
		fmt.Fprintf(&lines, "\n    %s", m)
	}
	for _, e := range known {
		for _, kind := range e.Mutants {
			one := equal{File: e.File, Function: e.Function, Line: e.Line, Mutants: []string{kind}}
			mutated := slices.ContainsFunc(found, func(m mutant) bool { return m.file == e.File })
			if mutated && !slices.ContainsFunc(found, func(m mutant) bool { return m.status == lived && one.is(m) }) {
				sound = false
				fmt.Fprintf(&lines, "\n    equal.yaml explains what does not live: %s %s in %s\n          %s", e.File, kind, e.Function, e.Line)
			}
		}
	}
	return fmt.Sprintf("%s: %d killed, %d lived (%d of them equal), %d not covered, %d timed out, %d not viable%s", t.directory,
		counts[killed], counts[lived], explained, counts[notCovered], counts[timedOut], counts[notViable], lines.String()), sound
}
