package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"openintent/e2e/harness"
)

// extensionRevision is the revision that has the tasks extension.
const extensionRevision = "2026-07-28"

// ofExtension reports whether a scenario is about the tasks extension. The suite runs such scenarios, but no revision requires them, so
// its exit code says nothing of them.
func ofExtension(scenario string) bool { return strings.HasPrefix(scenario, "tasks-") }

// judgeExtension reads what the suite wrote about the scenarios of the tasks extension. It returns 1 if a check has failed or there is
// none, and 0 otherwise.
func judgeExtension(tb *harness.Program, results string) int {
	files, err := filepath.Glob(filepath.Join(results, "server-tasks-*", "checks.json"))
	if err != nil {
		tb.Fatal(err)
	}
	passed, failed := 0, 0
	for _, file := range files {
		var checks []struct {
			ID     string `json:"id"`
			Status string `json:"status"`
			Why    string `json:"errorMessage"`
		}
		written, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(written, &checks)
		}
		if err != nil {
			tb.Fatal("reading the suite's results: ", err)
		}
		for _, check := range checks {
			switch check.Status {
			case "SUCCESS":
				passed++
			case "FAILURE":
				failed++
				fmt.Printf("tasks extension: %s failed: %s\n", check.ID, check.Why)
			}
		}
	}
	fmt.Printf("Tasks extension: %d passed, %d failed\n", passed, failed)
	if failed > 0 || passed == 0 {
		return 1
	}
	return 0
}
