package databasetest

import (
	"flag"
	"strconv"
	"sync"
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

// SearchWith sets flags of package rapid for the rest of a test, except for those that the command line sets. If several tests do so at the
// same time, a flag gets its old value back when the last of them ends.
func SearchWith(tb testing.TB, values map[string]int) {
	tb.Helper()
	for name, value := range values {
		if err := searching.set(name, strconv.Itoa(value)); err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { searching.leave(name) })
	}
}

// searching has the flags that running tests have set, with the number of these tests.
var searching = search{tests: make(map[string]int)}

type search struct {
	mutex sync.Mutex
	tests map[string]int
}

func (s *search) set(name, value string) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	found := flag.Lookup(name)
	if s.tests[name] == 0 && found.Value.String() != found.DefValue {
		return nil // the command line sets it
	}
	s.tests[name]++
	return flag.Set(name, value)
}

// leave gives a flag its old value back, unless other tests still need the one that it has.
func (s *search) leave(name string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.tests[name] == 0 {
		return
	}
	if s.tests[name]--; s.tests[name] == 0 {
		_ = flag.Set(name, flag.Lookup(name).DefValue)
	}
}
