package attention

import "slices"

// Rules are what of the table can be given otherwise, to see what would become of a conversation then. The server itself judges by
// Today alone.
type Rules struct {
	// DigestedKinds are the kinds of messages that are lines of a summary for those who are no nearer to them.
	DigestedKinds []string
}

var today = Rules{DigestedKinds: []string{"status", "progress", "log"}}

// Today returns the rules by which the server judges.
func Today() Rules { return Rules{DigestedKinds: slices.Clone(today.DigestedKinds)} }

// digest reports whether messages of a kind are digested. Without rules, those of today count.
func (r *Rules) digest(kind string) bool {
	if r == nil {
		r = &today
	}
	return slices.Contains(r.DigestedKinds, kind)
}
