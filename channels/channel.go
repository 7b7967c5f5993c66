package channels

import (
	"cmp"
	"slices"
	"time"

	"openintent/intents"
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

// ClosedBy tells whether the channel is closed at the given time, and since when: by its stored closing, by the end of
// its intent, or because its time to live has run out. That time runs from the last message (or the creation), stands
// still while the intent is suspended and starts afresh when it resumes. The head and the count must be of the same
// snapshot, or read under the same lock, as the rules.
func (r *Rules) ClosedBy(count Count, head *intents.Head, now time.Time) (closedAt time.Time, closed bool) {
	if !r.ClosedAt.IsZero() {
		return r.ClosedAt, true
	}
	if head.Ended() {
		now = head.EndedAt
	}
	if deadline, lapsed := r.lapsedBy(count, head, now); lapsed {
		return deadline, true
	}
	return head.EndedAt, head.Ended()
}

// lapsedBy tells whether the time to live of a channel that nobody has closed ran out by the given time, and when.
func (r *Rules) lapsedBy(count Count, head *intents.Head, now time.Time) (deadline time.Time, lapsed bool) {
	if r.TTL == 0 || head.Status == intents.StatusSuspended {
		return time.Time{}, false
	}
	start := r.CreatedAt
	if count.LastMessageAt.After(start) {
		start = count.LastMessageAt
	}
	if head.ResumedAt.After(start) {
		start = head.ResumedAt
	}
	deadline = start.Add(r.TTL)
	return deadline, !now.Before(deadline)
}

// Members gives the listed agents in the order they were added, departed ones included: ask Lists.
func (r *Rules) Members() []string {
	agents := make([]string, len(r.members))
	for i, m := range r.members {
		agents[i] = m.agent
	}
	return agents
}

// Lists tells whether the agent is on the member list. departedAt is the agent's last departure, zero when there was
// none: a departure ends every membership begun before it, or at the same instant, even if the agent has registered
// again.
func (r *Rules) Lists(agent string, departedAt time.Time) bool {
	m, listed := r.listed[agent]
	return listed && outlasts(m.addedAt, departedAt)
}

// outlasts tells whether a membership begun at a time lasts beyond an agent's last departure.
func outlasts(addedAt, departedAt time.Time) bool {
	return departedAt.IsZero() || addedAt.After(departedAt)
}

// Participates tells whether the agent may see and post: with read access to the intent and, under the explicit policy,
// as a listed member. The operator always may.
func (r *Rules) Participates(agent string, operator bool, access *intents.Rules, departedAt, now time.Time) bool {
	if operator {
		return true
	}
	if access.Level(agent, false, now) < intents.PermissionRead {
		return false
	}
	return r.Policy == PolicyIntent || r.Lists(agent, departedAt)
}

// Manages tells whether the acting agent may change, close and delete the channel: its creator or the intent's
// coordinator, with read access to the intent, or the operator. Being admin of the intent does not suffice.
func (r *Rules) Manages(acting string, operator bool, access *intents.Rules, now time.Time) bool {
	if operator {
		return true
	}
	if access.Level(acting, false, now) < intents.PermissionRead {
		return false
	}
	return acting == r.CreatedBy || access.Coordinates(acting, now)
}
