package databasetest

import (
	"flag"
	"strconv"
	"testing"
)

// fewCases are enough for one run of the tests: each run draws others.
const fewCases = 25

// SearchBriefly lets package rapid check a property with few cases for the rest of a test, because each case talks with a database.
// The command line decides where it says something: -rapid.checks=1000 is a long search. Tests that use rapid at the same time
// share its flags.
func SearchBriefly(tb testing.TB) {
	tb.Helper()
	SearchWith(tb, map[string]int{"rapid.checks": fewCases})
}

// SearchWith sets flags of package rapid for the rest of a test, unless the command line does.
func SearchWith(tb testing.TB, values map[string]int) {
	tb.Helper()
	for name, value := range values {
		found := flag.Lookup(name)
		if found.Value.String() != found.DefValue {
			continue // the command line says something else
		}
		if err := flag.Set(name, strconv.Itoa(value)); err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = flag.Set(name, found.DefValue) })
	}
}
