package harnesses

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// page is what a user has to connect a harness.
const page = "../../docs/doors/mcp.md"

// The ways in.
const (
	overHTTP = "http"
	onStdio  = "stdio"
)

// addresses are those of the server in the entries of the page.
var addresses = map[string]string{overHTTP: "127.0.0.1:8000", onStdio: "127.0.0.1:50051"}

// Entry returns the entry of a section of the page for one way in.
func Entry(tb testing.TB, section, way string) string {
	tb.Helper()
	for _, block := range codeBlock.FindAllStringSubmatch(sectionOf(tb, section), -1) {
		if strings.Contains(block[1], addresses[way]) {
			return block[1]
		}
	}
	tb.Fatalf("the section %q of %s has no entry with %s", section, page, addresses[way])
	return ""
}

var codeBlock = regexp.MustCompile("(?s)```\\w+\n(.*?)```")

func sectionOf(tb testing.TB, section string) string {
	tb.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		tb.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "\n### "+section+"\n")
	if !found {
		tb.Fatalf("%s has no section %q", page, section)
	}
	before, _, _ := strings.Cut(after, "\n### ")
	return before
}

// Wake returns the command by which the page wakes a harness, as a line for a shell.
func Wake(tb testing.TB, harness string) string {
	tb.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		tb.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(harness) + ` \| .*?` + "`(openintent wake --agent researcher --exec '[^`]*')`")
	found := row.FindStringSubmatch(string(text))
	if found == nil {
		tb.Fatalf("%s shows no command that wakes %s", page, harness)
	}
	return found[1]
}
