package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// result is what the tests said of a fault. A fault is noticed if by is not empty.
type result struct {
	by    []string // tests that failed, or why the run ended otherwise
	took  time.Duration
	wrong error // why it is not known whether the fault is noticed
}

var (
	failedTest = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)
	// unbuilt is what `go test` says of a package that does not compile.
	unbuilt = regexp.MustCompile(`(?m)^FAIL\s+\S+ \[(build|setup) failed\]`)
)

// try plants the fault in the copy and runs the tests that must notice it.
func try(ctx context.Context, f fault, directory string, limit time.Duration) (r result) {
	began := time.Now()
	defer func() { r.took = time.Since(began) }()
	heal, err := plant(f, directory)
	if err != nil {
		return result{wrong: err}
	}
	defer func() { r.wrong = errors.Join(r.wrong, heal()) }()
	return test(ctx, f, directory, limit)
}

const (
	// pages is the folder with the sources of the web console's pages. A fault in them is built into pages that the tests show in a browser.
	pages = "console/src/"
	// browser is the package with these tests; its build tag has those that `make test` leaves out.
	browser, browserTag = "./e2e/console/browser", "console"
)

// test runs the tests of a fault on the copy as it is.
func test(ctx context.Context, f fault, directory string, limit time.Duration) result {
	// Go keeps the result of a test whose program is the same, and does not see which pages the program shows.
	arguments := []string{"test", "-vet=off", "-count", "1", "-timeout", limit.String()}
	if f.Tests != "" {
		arguments = append(arguments, "-run", f.Tests)
	}
	if slices.Contains(f.Packages, browser) {
		arguments = append(arguments, "-tags", browserTag)
	}
	command := exec.CommandContext(ctx, "go", append(arguments, f.Packages...)...)
	command.Dir = directory
	if strings.HasPrefix(f.File, pages) {
		built, err := buildPages(ctx, directory)
		if err != nil {
			return result{wrong: err}
		}
		command.Env = append(os.Environ(), "OPENINTENT_TEST_PAGES="+built)
	}
	output, err := command.CombinedOutput()
	var failed *exec.ExitError
	switch {
	case err == nil:
		return result{}
	case !errors.As(err, &failed):
		return result{wrong: err}
	case unbuilt.Match(output):
		return result{wrong: fmt.Errorf("the code does not compile: %s", firstLines(string(output), 5))}
	}
	var by []string
	for _, match := range failedTest.FindAllStringSubmatch(string(output), -1) {
		by = append(by, match[1])
	}
	switch {
	case strings.Contains(string(output), "panic: test timed out"):
		by = append(by, fmt.Sprintf("still running after %s", limit))
	case len(by) == 0:
		by = []string{"the tests ended: " + firstLines(string(output), 3)}
	}
	slices.Sort(by)
	return result{by: slices.Compact(by)}
}

// buildPages builds the web console's pages from the copy as it is, and returns the folder that has them.
func buildPages(ctx context.Context, directory string) (string, error) {
	built := filepath.Join(directory, "built-pages")
	build := exec.CommandContext(ctx, "scripts/generate-console.sh", "--into", built)
	build.Dir = directory
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("the pages cannot be built: %w: %s", err, firstLines(string(output), 5))
	}
	return built, nil
}

func firstLines(text string, n int) string {
	lines := strings.SplitN(strings.TrimSpace(text), "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "\n    ")
}
