package databasetest

import (
	"flag"
	"strconv"
	"testing"
)

// fewCases is how many random cases a property is checked with in one run of the tests. Each run draws other cases.
const fewCases = 10

// SearchBriefly lets package rapid check a property with few cases for the rest of a test, because each case uses a database. The
// command line has precedence: -rapid.checks=1000 is a long search, as make search makes it. Tests that use rapid at the same
// time share its flags.
func SearchBriefly(tb testing.TB) {
	tb.Helper()
	SearchWith(tb, map[string]int{"rapid.checks": fewCases})
}

// SearchWith sets flags of package rapid for the rest of a test, except for those that the command line sets.
func SearchWith(tb testing.TB, values map[string]int) {
	tb.Helper()
	for name, value := range values {
		found := flag.Lookup(name)
		if found.Value.String() != found.DefValue {
			continue // the command line sets it
		}
		if err := flag.Set(name, strconv.Itoa(value)); err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = flag.Set(name, found.DefValue) })
	}
}
