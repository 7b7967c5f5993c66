package intents

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTiedWithout(t *testing.T) {
	never := time.Time{}
	granted := func(by string, until time.Time) map[string][]AccessEntry {
		return map[string][]AccessEntry{"bob": {{Permission: PermissionRead, GrantedBy: by, ExpiresAt: until}}}
	}
	assigned := map[string]struct{}{"bob": {}}
	for name, c := range map[string]struct {
		rules  Rules
		others []string
		tied   bool
	}{
		"nothing":                                {Rules{creator: "ann"}, []string{"mal"}, false},
		"it made the intent":                     {Rules{creator: "bob"}, []string{"mal"}, true},
		"it made the intent, and is one of them": {Rules{creator: "bob"}, []string{"mal", "bob"}, false},
		"granted by somebody":                    {Rules{creator: "mal", entries: granted("ann", never)}, []string{"mal"}, true},
		"granted by one of them":                 {Rules{creator: "ann", entries: granted("mal", never)}, []string{"ada", "mal"}, false},
		"granted by somebody, until now":         {Rules{creator: "ann", entries: granted("ann", noon)}, []string{"mal"}, false},
		"assigned":                               {Rules{creator: "ann", assigned: assigned}, []string{"mal"}, true},
		"assigned in an intent of theirs":        {Rules{creator: "mal", assigned: assigned}, []string{"mal"}, false},
		"assigned, and asked about itself":       {Rules{creator: "ann", assigned: assigned}, []string{"bob"}, true},
		"it coordinates": {
			Rules{creator: "ann", coordinators: []Coordinator{coordinatorUntil("bob", never)}}, []string{"mal"}, true,
		},
		"it coordinates an intent of theirs": {
			Rules{creator: "mal", coordinators: []Coordinator{coordinatorUntil("bob", never)}}, []string{"mal"}, false,
		},
		"it coordinated until now": {
			Rules{creator: "ann", coordinators: []Coordinator{coordinatorUntil("bob", noon)}}, []string{"mal"}, false,
		},
	} {
		require.Equal(t, c.tied, c.rules.TiedWithout("bob", c.others, noon), name)
	}
}
