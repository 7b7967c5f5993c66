package channels

import (
	"cmp"
	"slices"
	"time"
)

// Key identifies a channel in rows, by its intent's number and its own number within the intent. Neither ever changes.
type Key struct {
	IntentNo  int64
	ChannelNo int64
}

// DistinctKeys sorts keys and removes duplicates.
func DistinctKeys(keys []Key) []Key {
	slices.SortFunc(keys, func(a, b Key) int {
		return cmp.Or(cmp.Compare(a.IntentNo, b.IntentNo), cmp.Compare(a.ChannelNo, b.ChannelNo))
	})
	return slices.Compact(keys)
}

// Policy says who may take part in a channel.
type Policy string

const (
	// PolicyExplicit lets only listed members take part.
	PolicyExplicit Policy = "explicit"
	// PolicyIntent lets every agent with read access to the intent take part.
	PolicyIntent Policy = "intent"
)

// History says which earlier messages a newly added member sees.
type History string

const (
	// HistoryAll shows all messages that are still listed.
	HistoryAll History = "all"
	// HistoryFromJoin shows only messages that are sent after the member was added.
	HistoryFromJoin History = "from_join"
)

// DefaultMaxMessages is how many messages a channel lists if its options do not say.
const DefaultMaxMessages = 1000

// DefaultTurnBudget is the turn budget of a channel whose options do not say.
const DefaultTurnBudget = 20

// These are the conversation budgets of a channel whose options do not say: in a thread, and outside threads.
const (
	DefaultThreadBudget  = 60
	DefaultChannelBudget = 200
)

// Rules describe a channel and decide who takes part in it, as of one epoch of its intent. They never change once loaded and
// may be shared.
type Rules struct {
	Key
	// ID is the channel's id and IntentID its intent's. TaskID is the id of the task that the channel is scoped to, or empty.
	ID, IntentID, TaskID string
	// Name is unique among the intent's open channels.
	Name string
	// Address leads to the channel and can be dictated; it is empty for most channels.
	Address string
	// CreatedBy is the agent that created the channel and therefore manages it; caller.System for a channel of the server's own.
	CreatedBy string
	Policy    Policy
	// Audit copies every message to the intent's event log.
	Audit bool
	// TTL is how long the channel stays open after its last message; zero means until the intent ends.
	TTL time.Duration
	// MaxMessages is how many of the newest messages are listed; always above zero.
	MaxMessages int64
	History     History
	// TurnBudget is how many messages two agents alone may exchange before the loop brake is put on; 0 means that there is no brake.
	TurnBudget int64
	// ConversationBudget is how often agents in one place may set each other to work before they are braked. 0 means that there is no
	// brake, and nil that nobody has said (ConversationBudgetIn).
	ConversationBudget *int64
	CreatedAt          time.Time
	// OpenedThrough is the newest message's ordinal when the policy last changed from explicit to intent.
	OpenedThrough int64
	// ClosedAt is the stored time of the closing. Zero means only that no closing is stored; ClosedBy decides whether the
	// channel is closed.
	ClosedAt time.Time
	// Deleted is true for a deleted channel; no client sees one.
	Deleted bool

	members []member
	listed  map[string]member
	// insiders are the agents that were members when the channel was last opened.
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

// Count says how many messages a channel has had.
type Count struct {
	// Messages is how many messages were ever sent, which is the newest message's ordinal.
	Messages int64
	// Floor is the ordinal up to which messages are evicted.
	Floor int64
	// LastMessageAt is zero while there is none.
	LastMessageAt time.Time
}

// newRules completes rules with their member list; the members are in the list's order.
func newRules(rules Rules, members []member) *Rules {
	rules.members = members
	rules.listed = make(map[string]member, len(members))
	for _, m := range members {
		rules.listed[m.agent] = m
	}
	return &rules
}

// ConversationBudgetIn returns the conversation budget in a thread, or outside threads.
func (r *Rules) ConversationBudgetIn(thread bool) int64 {
	switch {
	case r.ConversationBudget != nil:
		return *r.ConversationBudget
	case thread:
		return DefaultThreadBudget
	}
	return DefaultChannelBudget
}

// Members returns the listed agents in the order in which they were added. They include departed agents; Lists decides
// whether an agent is still a member.
func (r *Rules) Members() []string {
	agents := make([]string, len(r.members))
	for i, m := range r.members {
		agents[i] = m.agent
	}
	return agents
}
