package intents

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/jsonvalue"
)

// The protocol's test vectors for the hash of events.
const (
	firstHash  = "sha256:e86_vnXTYqoXT5bBsKMqqjgTYusxp10c2vJfUoPmJGY"
	secondHash = "sha256:lmIkJeldEtVD9KkjrPIPIYNJqfKrlIW1Aflgwwk0E24"
)

func vectorEvents() (first, second *Event) {
	first = &Event{
		Actor: "a", CreatedAt: time.Date(2026, 2, 13, 10, 0, 0, 0, time.UTC), Type: "intent_created", ID: "e1",
		IntentID: "i1", Payload: jsonvalue.Object(`{"title":"T"}`), Sequence: 1, Hash: firstHash,
	}
	second = &Event{
		Actor: "b", CreatedAt: time.Date(2026, 2, 13, 10, 0, 1, 0, time.UTC), Type: "channel_message", ID: "e2",
		IntentID: "i1", Payload: jsonvalue.Object(`{ "n": 1.0, "channel_id": "\u0063" }`), Sequence: 2,
		PreviousHash: firstHash, TraceID: "a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d6", Hash: secondHash,
	}
	return first, second
}

func TestHashVectors(t *testing.T) {
	first, second := vectorEvents()
	for _, event := range []*Event{first, second} {
		hash, err := event.computeHash()
		require.NoError(t, err)
		require.Equal(t, event.Hash, hash)
	}
}

func TestHashCoversEveryPublicMember(t *testing.T) {
	for name, change := range map[string]func(e *Event){
		"id":        func(e *Event) { e.ID = "e3" },
		"intent":    func(e *Event) { e.IntentID = "i2" },
		"type":      func(e *Event) { e.Type = "comment" },
		"actor":     func(e *Event) { e.Actor = "c" },
		"payload":   func(e *Event) { e.Payload = jsonvalue.Object(`{"channel_id":"c","n":2}`) },
		"time":      func(e *Event) { e.CreatedAt = e.CreatedAt.Add(time.Microsecond) },
		"sequence":  func(e *Event) { e.Sequence = 3 },
		"link":      func(e *Event) { e.PreviousHash = "" },
		"proof":     func(e *Event) { e.Proof = jsonvalue.Object(`{}`) },
		"trace":     func(e *Event) { e.TraceID = "" },
		"parent":    func(e *Event) { e.ParentEventID = "e1" },
		"key order": nil,
	} {
		t.Run(name, func(t *testing.T) {
			_, event := vectorEvents()
			if change == nil { // stands for the only field that the hash does not cover
				event.Payload = jsonvalue.Object(`{"channel_id":"c","n":1}`)
			} else {
				change(event)
			}
			hash, err := event.computeHash()
			require.NoError(t, err)
			require.Equal(t, change == nil, hash == secondHash)
		})
	}
}

func TestTheDeepestAuditedPayloadCanBeHashed(t *testing.T) {
	deep := strings.Repeat(`{"a":`, jsonvalue.MaxDepth-1) + "{}" + strings.Repeat("}", jsonvalue.MaxDepth-1)
	require.NoError(t, jsonvalue.Check([]byte(deep), "payload"))
	event := Event{Payload: jsonvalue.Object(`{"payload":` + deep + `}`)}
	_, err := event.computeHash()
	require.NoError(t, err)
}

func TestChainCheckNamesEachBreak(t *testing.T) {
	third := &Event{
		Actor: "c", CreatedAt: time.Date(2026, 2, 13, 10, 0, 2, 0, time.UTC), Type: "comment", ID: "e3", IntentID: "i1",
		Payload: jsonvalue.Object(`{}`), Sequence: 3, PreviousHash: secondHash,
	}
	hash, err := third.computeHash()
	require.NoError(t, err)
	third.Hash = hash

	type outcome struct {
		breaks   []chainBreak
		linked   bool
		verified []bool
	}
	for name, c := range map[string]struct {
		tamper func(chain []*Event) []*Event
		want   outcome
	}{
		"untouched": {
			func(chain []*Event) []*Event { return chain },
			outcome{nil, true, []bool{true, true, true}},
		},
		"payload": {
			func(chain []*Event) []*Event {
				chain[1].Payload = jsonvalue.Object(`{}`)
				return chain
			},
			outcome{[]chainBreak{{2, "event_hash is not the hash of the stored event"}}, true, []bool{true, false, true}},
		},
		"payload with its hash": {
			func(chain []*Event) []*Event {
				chain[1].Payload = jsonvalue.Object(`{}`)
				chain[1].Hash, _ = chain[1].computeHash()
				return chain
			},
			outcome{
				[]chainBreak{{3, "previous_event_hash is not the event_hash of the event before"}},
				false, []bool{true, true, false},
			},
		},
		"missing in between": {
			func(chain []*Event) []*Event { return []*Event{chain[0], chain[2]} },
			outcome{[]chainBreak{{2, "the event is missing"}}, false, []bool{true, false}},
		},
		"missing at the beginning": {
			func(chain []*Event) []*Event { return chain[2:] },
			outcome{[]chainBreak{{1, "the events from here to 2 are missing"}}, false, []bool{false}},
		},
		"missing at the end": {
			func(chain []*Event) []*Event { return chain[:2] },
			outcome{[]chainBreak{{3, "the event is missing"}}, false, []bool{true, true}},
		},
		"all missing": {
			func([]*Event) []*Event { return nil },
			outcome{[]chainBreak{{1, "the events from here to 3 are missing"}}, false, nil},
		},
		"last one rewritten": {
			func(chain []*Event) []*Event {
				chain[2].Actor = "eve"
				chain[2].Hash, _ = chain[2].computeHash()
				return chain
			},
			outcome{
				[]chainBreak{{3, "the log does not end with the event that was appended last"}},
				false, []bool{true, true, true},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			first, second := vectorEvents()
			last := *third
			check := newChainCheck()
			for _, event := range c.tamper([]*Event{first, second, &last}) {
				check.next(event)
			}
			check.end(3, hash)
			var verified []bool
			for _, event := range check.outcomes {
				verified = append(verified, event.verified)
			}
			require.Equal(t, c.want, outcome{check.breaks, check.linked, verified})
		})
	}
}
