package caller

import (
	"encoding/json"
	"slices"
)

// Scope is where a key works: in some intents, and on some channels of others. A nil Scope is everywhere. Nobody changes a
// Scope after it was made.
type Scope struct {
	Intents  []string `json:"intents,omitempty"`
	Channels []string `json:"channels,omitempty"`
}

// NewScope returns the scope of a key that names intents and channels. A key that names neither works everywhere.
func NewScope(intentIDs, channelIDs []string) *Scope {
	if len(intentIDs)+len(channelIDs) == 0 {
		return nil
	}
	return &Scope{Intents: slices.Clone(intentIDs), Channels: slices.Clone(channelIDs)}
}

// CoversIntent reports whether an intent lies in the scope, with everything in it.
func (s *Scope) CoversIntent(intentID string) bool {
	return s == nil || slices.Contains(s.Intents, intentID)
}

// CoversChannel reports whether a channel of an intent lies in the scope.
func (s *Scope) CoversChannel(intentID, channelID string) bool {
	return s.CoversIntent(intentID) || slices.Contains(s.Channels, channelID)
}

// MayReachInto reports whether anything of an intent may lie in the scope. A scope does not know its channels' intents.
func (s *Scope) MayReachInto(intentID string) bool {
	return s.CoversIntent(intentID) || len(s.Channels) > 0
}

// Covers reports whether all of the other scope lies in this one. It does not know the intents of the other's channels, so
// it covers those that it names itself.
func (s *Scope) Covers(other *Scope) bool {
	if s == nil || other == nil {
		return s == nil
	}
	return within(other.Intents, s.Intents) && within(other.Channels, s.Channels)
}

// ShowsAllAgents reports whether the records of all agents are for the scope's callers to see. With only channels, a caller
// sees those of its own key.
func (s *Scope) ShowsAllAgents() bool { return s == nil || len(s.Intents) > 0 }

// Same reports whether two scopes mean the same.
func (s *Scope) Same(other *Scope) bool { return s.Covers(other) && other.Covers(s) }

func within(some, all []string) bool {
	return !slices.ContainsFunc(some, func(id string) bool { return !slices.Contains(all, id) })
}

// Stored returns the scope as the database keeps it; nil for everywhere.
func (s *Scope) Stored() []byte {
	if s == nil {
		return nil
	}
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // lists of texts always have a JSON form
	}
	return text
}

// ScopeFrom reads what Stored returned.
func ScopeFrom(stored []byte) (*Scope, error) {
	if stored == nil {
		return nil, nil
	}
	s := new(Scope)
	return s, json.Unmarshal(stored, s)
}
