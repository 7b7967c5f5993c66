package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

func TestEveryEqualMutantFitsTheCode(t *testing.T) {
	known, err := readEqual("equal.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range known {
		if err := e.fits(root); err != nil {
			t.Errorf("%s: %s: %v", e.File, e.Line, err)
		}
		directory := filepath.ToSlash(filepath.Dir(e.File))
		if !slices.ContainsFunc(targets, func(t target) bool { return t.directory == directory }) {
			t.Errorf("%s: its package is no target", e.File)
		}
	}
}

func TestEveryTargetFitsTheCode(t *testing.T) {
	for _, target := range targets {
		patterns, err := target.others(root)
		if err != nil {
			t.Error(err)
		}
		for _, file := range target.files {
			if slices.ContainsFunc(patterns, regexp.MustCompile("^"+regexp.QuoteMeta(file)).MatchString) {
				t.Errorf("%s/%s is left out", target.directory, file)
			}
		}
	}
	if _, err := (target{directory: "internal/caller", files: []string{"gone.go"}}).others(root); err == nil {
		t.Error("a target may name a file that is not there")
	}
	some := chosen([]string{"./internal/caller/", "internal/fault"})
	if len(some) != 2 || some[0].directory != "internal/caller" || some[1].directory != "internal/fault" {
		t.Errorf("chosen: %v", some)
	}
}

func TestAMutantIsShownByTheTextOfItsLine(t *testing.T) {
	for _, row := range []struct {
		line   string
		column int
		shown  string
	}{
		{"\treturn a <= b && b < c", 11, "return a «<=» b && b < c"},
		{"\treturn a <= b && b < c", 21, "return a <= b && b «<» c"},
		{"\tn++", 3, "n«++»"},
		{"\treturn n", 2, "return n"},
		{"x", 9, "x"},
	} {
		if shown := marked(row.line, row.column); shown != row.shown {
			t.Errorf("%q at %d is shown as %q", row.line, row.column, shown)
		}
	}
}

const code = `package small

func size(n int) string {
	switch {
	case n < 0:
		return "negative"
	case n == 0:
		return "nothing"
	}
	return "something"
}

func unreached(n int) int {
	switch {
	case n > 1:
		return 1
	}
	return 0
}
`

func TestTheCasesOfASwitchThatRanAreCovered(t *testing.T) {
	directory := t.TempDir()
	profile := filepath.Join(directory, "profile")
	write(t, filepath.Join(directory, "go.mod"), "module example.org/small\n\ngo 1.26\n")
	write(t, filepath.Join(directory, "size.go"), code)
	ran := "mode: set\nexample.org/small/size.go:3.25,4.9 1 1\nexample.org/small/size.go:5.13,6.20 1 0\n" +
		"example.org/small/size.go:13.27,14.9 1 0\n"
	write(t, profile, ran)
	if err := addCases(profile, directory); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(profile)
	if err != nil {
		t.Fatal(err)
	}
	if added := strings.TrimPrefix(string(content), ran); added != "example.org/small/size.go:5.7,5.12 1 1\nexample.org/small/size.go:7.7,7.13 1 1\n" {
		t.Errorf("added: %q", added)
	}
}

func TestAMachineWithoutRoomProvesNothing(t *testing.T) {
	for output, is := range map[string]bool{
		"--- FAIL: TestX (0.00s)\nFAIL\nFAIL\tsmall\t0.01s\n":                                                    false,
		"# small\n./size.go:5:9: invalid operation\nFAIL\tsmall [build failed]\n":                                false,
		"# small\ncompile: writing output: write _pkg_.a: no space left on device\nFAIL\tsmall [build failed]\n": true,
		"FAIL\tsmall [build failed]\n":                                                                           true,
		"--- FAIL: TestX (0.00s)\n    write: no space left on device\nFAIL\tsmall\t0.01s\n":                      true,
		"signal: killed\nFAIL\tsmall\t0.01s\n":                                                                   true,
	} {
		if isTrouble([]byte(output)) != is {
			t.Errorf("%q: %t", output, !is)
		}
	}
}

// A test that takes memory without end is ended, as one that failed. One that ends by itself ends as it wants.
func TestATestHasSoMuchMemory(t *testing.T) {
	if code := testCommand([]string{"sleep", "600"}, 0); code != 1 {
		t.Errorf("a test that takes too much ended with %d", code)
	}
	for want, script := range []string{"exit 0", "exit 1", "exit 2"} {
		if code := testCommand([]string{"sh", "-c", script}, mostMemory); code != want {
			t.Errorf("%s ended with %d", script, code)
		}
	}
}

func TestWhatLivesAndIsNotEqualFails(t *testing.T) {
	directory := t.TempDir()
	if err := os.Mkdir(filepath.Join(directory, "small"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(directory, "small/size.go"), code)
	found, err := readReport([]byte(`{"files": [{"file_name": "size.go", "mutations": [
		{"type": "CONDITIONALS_NEGATION", "status": "KILLED", "line": 7, "column": 9},
		{"type": "CONDITIONALS_BOUNDARY", "status": "LIVED", "line": 5, "column": 9}]}]}`), "small", directory)
	if err != nil {
		t.Fatal(err)
	}
	boundary := equal{File: "small/size.go", Function: "size", Line: "case n «<» 0:", Mutants: []string{"CONDITIONALS_BOUNDARY"}, Why: "it is tried"}
	if err := boundary.fits(directory); err != nil {
		t.Error(err)
	}
	gone := equal{File: "small/size.go", Function: "size", Line: "case n «==» 0:", Mutants: []string{"CONDITIONALS_NEGATION"}, Why: "it is tried"}
	unreached := boundary
	unreached.Function = "unreached"
	if err := unreached.fits(directory); err == nil {
		t.Error("an entry fits although its line stands in another function")
	}
	elsewhere := equal{File: "large/size.go", Function: "size", Line: "case n «<» 0:", Mutants: []string{"CONDITIONALS_BOUNDARY"}, Why: "it is tried"}
	for name, row := range map[string]struct {
		known []equal
		sound bool
		says  string
	}{
		"unexplained": {nil, false, "LIVED     small/size.go:5:9 CONDITIONALS_BOUNDARY in size\n          case n «<» 0:"},
		"equal":       {[]equal{boundary, elsewhere}, true, "small: 1 killed, 1 lived (1 of them equal), 0 not covered"},
		"elsewhere":   {[]equal{unreached}, false, "LIVED "},
		"killed":      {[]equal{boundary, gone}, false, "equal.yaml explains what does not live: small/size.go CONDITIONALS_NEGATION"},
	} {
		if text, sound := describe(target{directory: "small"}, found, row.known); sound != row.sound || !strings.Contains(text, row.says) {
			t.Errorf("%s: %t %s", name, sound, text)
		}
	}
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
