package concerns

import (
	"cmp"
	"math"

	openintentv1 "openintent/gen/openintent/v1"
)

// place is a concern's place in the list: the oldest comes first, and of one moment the kinds have an order. What else it says tells the
// concerns of a kind and a moment apart: an intent and a position, a subscription, or an agent and a task. The zero place lies before all.
type place struct {
	since        int64 // in microseconds
	kind         int64
	major, minor int64
	text, more   string
}

func (p place) compare(other place) int {
	return cmp.Or(cmp.Compare(p.since, other.since), cmp.Compare(p.kind, other.kind), cmp.Compare(p.major, other.major),
		cmp.Compare(p.minor, other.minor), cmp.Compare(p.text, other.text), cmp.Compare(p.more, other.more))
}

// afterAll comes after every name.
const afterAll = "\U0010ffff"

// kindOf is the kind of the concerns at the place.
func (p place) kindOf() openintentv1.ConcernKind { return openintentv1.ConcernKind(p.kind) }

// among returns the place as one among the places of a kind: those of the kind that come after it come after the result.
func (p place) among(kind int64) place {
	switch {
	case p.kind < kind:
		return place{since: p.since, kind: kind, major: math.MinInt64, minor: math.MinInt64}
	case p.kind > kind:
		return place{since: p.since, kind: kind, major: math.MaxInt64, minor: math.MaxInt64, text: afterAll}
	}
	return p
}
