package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// How a mutant ended, as gremlins says.
const (
	killed     = "KILLED"
	lived      = "LIVED"
	timedOut   = "TIMED OUT"
	notViable  = "NOT VIABLE"
	notCovered = "NOT COVERED"
)

// mutant is one change of one operator. Its text is its line, as equal.yaml has it.
type mutant struct {
	file         string
	line, column int
	kind, status string
	function     string
	text         string
}

// report is what this command reads of gremlins' report.
type report struct {
	Files []struct {
		Name      string `json:"file_name"`
		Mutations []struct {
			Kind   string `json:"type"`
			Status string `json:"status"`
			Line   int    `json:"line"`
			Column int    `json:"column"`
		} `json:"mutations"`
	} `json:"files"`
}

// mutator runs gremlins on a copy of the code.
type mutator struct {
	gremlins string
	copy     string
	// work is a directory for what gremlins and the tests leave. path is the PATH on which go is this program.
	work, path string
}

// mutate tries all mutants of a target, in the order of files and lines.
func (m mutator) mutate(ctx context.Context, t target) ([]mutant, error) {
	leaveOut, err := t.others(m.copy)
	if err != nil {
		return nil, err
	}
	written := filepath.Join(m.work, "report.json")
	noted := filepath.Join(m.work, "trouble")
	if err := errors.Join(os.RemoveAll(written), os.RemoveAll(noted)); err != nil {
		return nil, err
	}
	// Gremlins measures how long the tests take once, and a busy machine must not end them later.
	arguments := []string{"unleash", "--workers", "1", "--timeout-coefficient", "30", "--output", written}
	for _, pattern := range leaveOut {
		arguments = append(arguments, "--exclude-files", pattern)
	}
	command := exec.CommandContext(ctx, m.gremlins, append(arguments, "./"+t.directory)...)
	command.Dir = m.copy
	command.Env = append(os.Environ(), "PATH="+m.path, "TMPDIR="+m.work, "OPENINTENT_TEST_ONLY_SQLITE=1", trouble+"="+noted)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = time.Minute
	said, err := command.CombinedOutput()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if found, unread := os.ReadFile(noted); unread == nil {
		return nil, fmt.Errorf("the machine failed, so what is said of %s would prove nothing:\n%s", t.directory, found)
	}
	if err != nil {
		return nil, fmt.Errorf("gremlins on %s: %w\n%s", t.directory, err, said)
	}
	content, err := os.ReadFile(written)
	if err != nil {
		return nil, fmt.Errorf("gremlins on %s reports nothing: %w\n%s", t.directory, err, said)
	}
	return readReport(content, t.directory, m.copy)
}

func readReport(content []byte, directory, root string) (found []mutant, err error) {
	var read report
	if err := json.Unmarshal(content, &read); err != nil {
		return nil, err
	}
	for _, file := range read.Files {
		name := path.Join(directory, file.Name)
		source, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return nil, err
		}
		functions, err := functionsOf(name, source)
		if err != nil {
			return nil, err
		}
		lines := strings.Split(string(source), "\n")
		for _, mutation := range file.Mutations {
			found = append(found, mutant{
				file: name, line: mutation.Line, column: mutation.Column, kind: mutation.Kind, status: mutation.Status,
				function: functions(mutation.Line), text: marked(lines[mutation.Line-1], mutation.Column),
			})
		}
	}
	slices.SortFunc(found, func(a, b mutant) int {
		return strings.Compare(a.place(), b.place())
	})
	return found, nil
}

// place sorts as files and lines do.
func (m mutant) place() string { return fmt.Sprintf("%s %6d %4d %s", m.file, m.line, m.column, m.kind) }

func (m mutant) String() string {
	return fmt.Sprintf("%-9s %s:%d:%d %s in %s\n          %s", m.status, m.file, m.line, m.column, m.kind, m.function, m.text)
}
