package channels

import (
	"cmp"
	"slices"
	"time"
)

// Key names a channel in rows: its intent's number and its own number within the intent. Neither ever changes.
type Key struct {
	IntentNo  int64
	ChannelNo int64
}

// DistinctKeys sorts keys and leaves each once.
func DistinctKeys(keys []Key) []Key {
	slices.SortFunc(keys, func(a, b Key) int {
		return cmp.Or(cmp.Compare(a.IntentNo, b.IntentNo), cmp.Compare(a.ChannelNo, b.ChannelNo))
	})
	return slices.Compact(keys)
}

// Policy is who may take part in a channel.
type Policy string

const (
	// PolicyExplicit lets only listed members take part.
	PolicyExplicit Policy = "explicit"
	// PolicyIntent lets every agent with read access to the intent take part.
	PolicyIntent Policy = "intent"
)

// History is what a member that a manager adds sees of what was sent before.
type History string

const (
	// HistoryAll shows everything that is still listed.
	HistoryAll History = "all"
	// HistoryFromJoin shows what is sent after the member was added.
	HistoryFromJoin History = "from_join"
)

// DefaultMaxMessages is how many messages a channel lists when its options do not say.
const DefaultMaxMessages = 1000

// Rules is what a channel is and who takes part in it, as of one epoch of its intent. It is never changed once loaded
// and may be shared.
type Rules struct {
	Key
	// ID is the channel's id, IntentID its intent's, TaskID that of the task it is scoped to, or empty.
	ID, IntentID, TaskID string
	// Name is unique among the intent's open channels.
	Name string
	// CreatedBy is the agent that created it and therefore manages it.
	CreatedBy string
	Policy    Policy
	// Audit copies every message to the intent's event log.
	Audit bool
	// TTL is how long the channel stays open after its last message; zero: until the intent ends.
	TTL time.Duration
	// MaxMessages is how many of the newest messages are listed; always above zero.
	MaxMessages int64
	History     History
	CreatedAt   time.Time
	// OpenedThrough is the newest message's ordinal when the channel was last opened, from explicit to all of the intent.
	OpenedThrough int64
	// ClosedAt is the closing as stored; zero says only that none is stored. Ask ClosedBy.
	ClosedAt time.Time
	// Deleted channels are absent for every client.
	Deleted bool

	members []member
	listed  map[string]member
	// insiders are those who were members when the channel was last opened.
	insiders map[string]insider
}

// member is one line of the member list.
type member struct {
	agent   string
	place   int64
	addedAt time.Time
	// joinedAfter is the newest message's ordinal when the member was added.
	joinedAfter int64
}

// Count is how far a channel's messages have come.
type Count struct {
	// Messages is the number ever sent, which is the newest message's ordinal.
	Messages int64
	// Floor is the ordinal up to which messages are evicted.
	Floor int64
	// LastMessageAt is zero while there is none.
	LastMessageAt time.Time
}

// newRules completes rules with their member list; members come in the list's order.
func newRules(rules Rules, members []member) *Rules {
	rules.members = members
	rules.listed = make(map[string]member, len(members))
	for _, m := range members {
		rules.listed[m.agent] = m
	}
	return &rules
}

// Members gives the listed agents in the order they were added, departed ones included: ask Lists.
func (r *Rules) Members() []string {
	agents := make([]string, len(r.members))
	for i, m := range r.members {
		agents[i] = m.agent
	}
	return agents
}
