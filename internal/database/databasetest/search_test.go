package databasetest_test

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"
	_ "pgregory.net/rapid" // whose flags are set

	"openintent/internal/database/databasetest"
)

// endingTest is a test that ends when its end is called.
type endingTest struct {
	testing.TB
	end func()
}

// Cleanup keeps the one thing that is to be done at the end.
func (e *endingTest) Cleanup(do func()) { e.end = do }

// A test that ends leaves the flags as those need them that still run. Otherwise these would check ten times as many cases.
func TestSearchesAtTheSameTimeStayBrief(t *testing.T) {
	checks := flag.Lookup("rapid.checks")
	before := checks.Value.String()
	one, other := &endingTest{TB: t}, &endingTest{TB: t}
	databasetest.SearchBriefly(one)
	databasetest.SearchBriefly(other)
	brief := checks.Value.String()
	require.NotEqual(t, checks.DefValue, brief)
	one.end()
	require.Equal(t, brief, checks.Value.String())
	other.end()
	require.Equal(t, before, checks.Value.String())
}
