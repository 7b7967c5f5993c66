package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// equal is an entry of equal.yaml: mutants of one operator that no input tells from the code they replace.
type equal struct {
	// File is relative to the root of the repository.
	File string `yaml:"file"`
	// Function is the one in which the line stands, without its receiver; empty for none.
	Function string `yaml:"function"`
	// Line is the text of the line, without the white space around it. The operator stands in «». So an entry moves with its line.
	Line string `yaml:"line"`
	// Mutants are what gremlins calls the changes of the operator.
	Mutants []string `yaml:"mutants"`
	// Why says why nothing can notice them.
	Why string `yaml:"why"`
}

func readEqual(file string) (all []equal, err error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	if err := decoder.Decode(&all); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return all, nil
}

func (e equal) is(m mutant) bool {
	return e.File == m.file && e.Function == m.function && e.Line == m.text && slices.Contains(e.Mutants, m.kind)
}

// fits reports what is wrong with an entry, without running anything.
func (e equal) fits(root string) error {
	if strings.TrimSpace(e.Why) == "" || len(e.Mutants) == 0 {
		return errors.New("an entry names mutants, and says why nothing can notice them")
	}
	if _, operator, marked := strings.Cut(e.Line, "«"); !marked || !strings.Contains(operator, "»") {
		return errors.New("the operator stands in «»")
	}
	content, err := os.ReadFile(filepath.Join(root, e.File))
	if err != nil {
		return err
	}
	line := strings.NewReplacer("«", "", "»", "").Replace(e.Line)
	functions, err := functionsOf(e.File, content)
	if err != nil {
		return err
	}
	for n, text := range strings.Split(string(content), "\n") {
		if strings.TrimSpace(text) == line && functions(n+1) == e.Function {
			return nil
		}
	}
	return fmt.Errorf("%s no longer has the line in %s", e.File, e.Function)
}

// functionsOf returns what says in which function of a file a line stands; it is empty for none.
func functionsOf(name string, content []byte) (func(line int) string, error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, name, content, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	return func(line int) string {
		for _, declared := range parsed.Decls {
			function, is := declared.(*ast.FuncDecl)
			if is && files.Position(function.Pos()).Line <= line && line <= files.Position(function.End()).Line {
				return function.Name.Name
			}
		}
		return ""
	}, nil
}

// operators are what gremlins changes; a longer one comes before its beginning.
var operators = []string{"==", "!=", "<=", ">=", "++", "--", "<", ">", "+", "-", "*", "/", "%"}

// marked returns a line without the white space around it, with the operator at a column, counted in bytes from 1, in «».
func marked(line string, column int) string {
	at := column - 1
	if at < 0 || at >= len(line) {
		return strings.TrimSpace(line)
	}
	for _, operator := range operators {
		if rest, found := strings.CutPrefix(line[at:], operator); found {
			return strings.TrimSpace(line[:at] + "«" + operator + "»" + rest)
		}
	}
	return strings.TrimSpace(line)
}
