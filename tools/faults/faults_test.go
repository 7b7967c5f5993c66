package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const root = "../.."

// fewest is how many faults each room has at least, and all together how many all rooms have.
const fewest, allTogether = 3, 120

func TestEveryFaultFitsTheCode(t *testing.T) {
	faults, err := readLists("rooms")
	if err != nil {
		t.Fatal(err)
	}
	rooms, seen := make(map[string]int), make(map[string]bool)
	for _, f := range faults {
		rooms[f.room]++
		if err := f.fits(root); err != nil {
			t.Errorf("%s: %q: %v", f.room, f.Breaks, err)
		}
		if seen[f.room+f.Breaks] {
			t.Errorf("%s: %q stands twice in the list", f.room, f.Breaks)
		}
		seen[f.room+f.Breaks] = true
	}
	for room, count := range rooms {
		if count < fewest {
			t.Errorf("%s has %d faults; a room has at least %d", room, count, fewest)
		}
	}
	if len(faults) < allTogether {
		t.Errorf("there are %d faults; there should be at least %d", len(faults), allTogether)
	}
}

// A small module with one test stands for the repository.
func module(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":      "module small\n\ngo 1.26\n",
		"add.go":      "package small\n\nfunc add(a, b int) int { return a + b }\n\nfunc first(a, b int) int { return a }\n",
		"add_test.go": "package small\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif add(1, 2) != 3 {\n\t\tt.Fatal(\"1 + 2\")\n\t}\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return directory
}

func TestAFaultIsNoticedOrSurvives(t *testing.T) {
	directory := module(t)
	whole := newSound(directory, time.Minute)
	for _, c := range []struct {
		name, from, to string
		by, wrong      string
	}{
		{name: "noticed", from: "a + b", to: "a - b", by: "TestAdd"},
		{name: "survives", from: "return a }", to: "return b }"},
		{name: "does not compile", from: "a + b", to: "a + c", wrong: "does not compile"},
		{name: "does not fit", from: "a * b", to: "a + b", wrong: "no longer has the lines"},
		{name: "is not clear", from: "a, b int", to: "b, a int", wrong: "2 times"},
		{name: "changes nothing", from: "a + b", to: "a + b", wrong: "changes nothing"},
	} {
		r := whole.tryFault(t.Context(), fault{Breaks: c.name, File: "add.go", From: c.from, To: c.to, Packages: []string{"."}})
		if by := strings.Join(r.by, " "); by != c.by {
			t.Errorf("%s: noticed by %q instead of %q", c.name, by, c.by)
		}
		if (r.wrong == nil) != (c.wrong == "") || r.wrong != nil && !strings.Contains(r.wrong.Error(), c.wrong) {
			t.Errorf("%s: %v instead of %q", c.name, r.wrong, c.wrong)
		}
	}
}

func TestATestThatFailsAnywayNoticesNothing(t *testing.T) {
	directory := module(t)
	if err := os.WriteFile(filepath.Join(directory, "broken_test.go"),
		[]byte("package small\n\nimport \"testing\"\n\nfunc TestBroken(t *testing.T) { t.Fatal() }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := newSound(directory, time.Minute).tryFault(t.Context(),
		fault{Breaks: "something", File: "add.go", From: "return a }", To: "return b }", Packages: []string{"."}})
	if r.wrong == nil || !strings.Contains(r.wrong.Error(), "TestBroken") {
		t.Errorf("%v instead of a word about TestBroken", r.wrong)
	}
}

func TestAFaultNamesTestsThatExist(t *testing.T) {
	directory := module(t)
	f := fault{Breaks: "something", File: "add.go", From: "a + b", To: "a", Packages: []string{"."}, Tests: "TestAdd/sub"}
	if err := f.fits(directory); err != nil {
		t.Error(err)
	}
	f.Tests = "TestNone"
	if err := f.fits(directory); err == nil {
		t.Error("a fault without a test fits")
	}
}

// A script stands for the build of the pages, and a file for the pages themselves.
func TestAFaultInThePagesIsBuilt(t *testing.T) {
	directory := module(t)
	for name, content := range map[string]string{
		"scripts/generate-console.sh": "#!/bin/sh\nmkdir -p \"$2\" && ! grep -q cannot console/src/page.ts && cp console/src/page.ts \"$2\"\n",
		"console/src/page.ts":         "one two",
		"e2e/console/browser/pages_test.go": "//go:build console\n\npackage browser\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\n" +
			"func TestPages(t *testing.T) {\n\tpage, err := os.ReadFile(os.Getenv(\"OPENINTENT_TEST_PAGES\") + \"/page.ts\")\n" +
			"\tif string(page) != \"one two\" {\n\t\tt.Fatal(string(page), err)\n\t}\n}\n",
	} {
		if err := os.MkdirAll(filepath.Join(directory, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(directory, name), []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	whole := newSound(directory, time.Minute)
	f := fault{Breaks: "something", File: "console/src/page.ts", From: "one", To: "three", Packages: []string{"./e2e/console/browser"}}
	if r := whole.tryFault(t.Context(), f); r.wrong != nil || strings.Join(r.by, " ") != "TestPages" {
		t.Errorf("noticed by %q (%v) instead of TestPages", r.by, r.wrong)
	}
	f.To = "cannot"
	if r := whole.tryFault(t.Context(), f); r.wrong == nil || !strings.Contains(r.wrong.Error(), "cannot be built") {
		t.Errorf("%v instead of a word about the build", r.wrong)
	}
}
