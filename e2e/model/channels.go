package model

import (
	"slices"
	"time"
)

// Channel is a named stream of messages within an intent.
type Channel struct {
	ID, Name, Creator string
	Intent            *Intent
	Task              string // "" means none
	// Members are in the order of their addition; they matter for participation only when Explicit is true.
	Members  []string
	Explicit bool
	// FromJoin means that a member that a manager adds sees only what is sent after it was added.
	FromJoin bool
	// Audit copies each message to the intent's log.
	Audit bool
	// TTL closes the channel this long after its last message; zero means never.
	TTL time.Duration
	// Max is how many messages the channel lists.
	Max int
	// Sent are all messages that were ever sent; the first Floor of them are evicted.
	Sent     []*Message
	Floor    int
	ClosedAt time.Time // zero while open
	Deleted  bool

	// annotations are what happened to the messages, in order.
	annotations []Annotation

	runsFrom time.Time // the time to live counts from here

	// joined is how many messages there were when each member was added.
	joined map[string]int
	// opened is how many messages there were when the channel was last opened to the whole intent. insiders are the
	// agents that were members then, with the number of those messages that each did not see.
	opened   int
	insiders map[string]int
}

// join adds agents to the end of the member list; agents that are already on it keep their places.
func (c *Channel) join(agents ...string) {
	for _, agent := range agents {
		if !slices.Contains(c.Members, agent) {
			c.Members = append(slices.Clone(c.Members), agent)
			c.joined[agent] = len(c.Sent)
		}
	}
}

func (c *Channel) leave(agent string) {
	c.Members = without(c.Members, agent)
	delete(c.joined, agent)
}

// hidden returns how many of the channel's first messages are hidden from a participating agent, unless it sent them.
func (c *Channel) hidden(agent string) int {
	before, inside := c.insiders[agent]
	switch {
	case c.Explicit && c.FromJoin:
		return c.joined[agent]
	case c.Explicit:
		return 0
	case inside:
		return before
	}
	return c.opened
}

// open lets everyone on the intent take part in an explicit channel. Earlier messages stay visible only to those who
// are members now.
func (c *Channel) open() {
	c.insiders = make(map[string]int)
	for _, agent := range c.Members {
		c.insiders[agent] = c.hidden(agent)
	}
	c.opened, c.Explicit = len(c.Sent), false
}

// Open reports whether the channel accepts messages.
func (c *Channel) Open() bool { return c.ClosedAt.IsZero() }

// Retained returns the messages that are not evicted.
func (c *Channel) Retained() []*Message { return c.Sent[c.Floor:] }

// close closes the channel for good, and its unanswered requests expire (RFC-0021 section 7.1).
func (c *Channel) close(at time.Time) {
	c.ClosedAt = at
	for _, m := range c.Sent {
		if m.unanswered(at) {
			m.Ended = true
		}
	}
}

// deadline returns when the channel's time to live runs out; runs is false when it has none or the time stands still.
func (c *Channel) deadline() (at time.Time, runs bool) {
	return c.runsFrom.Add(c.TTL), c.TTL > 0 && c.Open() && c.Intent.Status != "suspended_awaiting_input"
}

// lapse closes the channels whose time to live has run out.
func (w *World) lapse() {
	for _, c := range w.Channels {
		if at, runs := c.deadline(); runs && !w.Now.Before(at) {
			c.close(at)
		}
	}
}

func (c *Channel) evict() { c.Floor = max(c.Floor, len(c.Sent)-c.Max) }

// OpenByName returns the intent's open channel with a name; nil when there is none.
func (w *World) OpenByName(i *Intent, name string) *Channel {
	for _, c := range w.Channels {
		if c.Intent == i && c.Name == name && c.Open() {
			return c
		}
	}
	return nil
}

// Participates reports whether an agent may see and post: it needs read access to the intent and, on an explicit
// channel, must be a listed member. The operator always may.
func (w *World) Participates(c *Channel, agent string) bool {
	return agent == Operator ||
		w.Level(c.Intent, agent) >= Read && (!c.Explicit || slices.Contains(c.Members, agent))
}

// needPart refuses an agent that may not take part, and returns what it lacks.
func (w *World) needPart(c *Channel, agent string) Outcome {
	if w.Participates(c, agent) {
		return OK
	}
	return firstOf(w.need(c.Intent, agent, Read), "NOT_A_MEMBER")
}

// needManager refuses everyone who does not manage the channel. Its creator, the coordinator and the operator manage
// it; being an admin of the intent is not enough.
func (w *World) needManager(c *Channel, agent string) Outcome {
	switch {
	case c.Deleted:
		return "CHANNEL_NOT_FOUND"
	case w.need(c.Intent, agent, Read) != OK:
		return "FORBIDDEN"
	case agent != Operator && agent != c.Creator && !w.coordinates(c.Intent, agent):
		return "FORBIDDEN"
	}
	return OK
}

// Create opens a channel. Only the operator may name another creator in createdBy.
func (w *World) Create(caller, createdBy string, c Channel) (*Channel, Outcome) {
	creator, refused := actsAs(caller, createdBy)
	if refused != OK {
		return nil, refused
	}
	ended, known := c.Intent.Tasks[c.Task]
	switch {
	case w.need(c.Intent, creator, Read) != OK, c.Audit && w.given(c.Intent, creator) < Write:
		return nil, "FORBIDDEN"
	case c.Intent.Ended():
		return nil, "INTENT_ENDED"
	case c.Task != "" && !known:
		return nil, "INVALID_FIELD"
	case ended:
		return nil, "TASK_ENDED"
	case w.OpenByName(c.Intent, c.Name) != nil:
		return nil, "CHANNEL_NAME_TAKEN"
	}
	c.Creator = creator
	return w.add(c), OK
}

func (w *World) add(c Channel) *Channel {
	c.runsFrom = w.Now
	listed := c.Members
	c.Members, c.joined = nil, make(map[string]int)
	c.join(listed...)
	w.Channels = append(w.Channels, &c)
	return &c
}

// Created records what the server chose.
func (c *Channel) Created(id string, at time.Time) { c.ID, c.runsFrom = id, at }

// Change is what UpdateChannel may change; a nil field stays unchanged.
type Change struct {
	Members  *[]string
	Explicit *bool
	FromJoin *bool
	Audit    *bool
	TTL      *time.Duration // zero removes it
	Max      *int
	Close    bool
}

func (u Change) onlyCloses() bool {
	return u.Close && u.Members == nil && u.Explicit == nil && u.FromJoin == nil && u.Audit == nil && u.TTL == nil && u.Max == nil
}

// Update changes a channel. A closed channel never opens again and cannot be changed, but closing it again is
// harmless.
func (w *World) Update(caller string, c *Channel, change Change) Outcome {
	switch refused := w.needManager(c, caller); {
	case refused != OK:
		return refused
	case !c.Open() && change.onlyCloses():
		return OK
	case !c.Open():
		return "CHANNEL_CLOSED"
	case change.Audit != nil && *change.Audit && w.given(c.Intent, caller) < Write:
		return "FORBIDDEN"
	}
	set(&c.FromJoin, change.FromJoin)
	if change.Members != nil {
		c.list(*change.Members)
	}
	if opens := change.Explicit != nil && c.Explicit && !*change.Explicit; opens {
		c.open()
	}
	set(&c.Explicit, change.Explicit)
	set(&c.Audit, change.Audit)
	set(&c.TTL, change.TTL)
	set(&c.Max, change.Max)
	c.evict()
	w.lapse() // the new time to live may have run out already
	if change.Close && c.Open() {
		c.close(w.Now)
	}
	return OK
}

// list makes the member list exactly the wanted agents, in their order.
func (c *Channel) list(wanted []string) {
	for _, agent := range c.Members {
		if !slices.Contains(wanted, agent) {
			c.leave(agent)
		}
	}
	c.join(wanted...)
	c.Members = distinct(wanted)
}

// AddMembers adds agents to the member list; agents that are already on it keep their places.
func (w *World) AddMembers(caller string, c *Channel, names []string) Outcome {
	if refused := w.needOpenManaged(c, caller); refused != OK {
		return refused
	}
	c.join(names...)
	return OK
}

// RemoveMember removes an agent from the list; removing an agent that is not on it is no error.
func (w *World) RemoveMember(caller string, c *Channel, name string) Outcome {
	if refused := w.needOpenManaged(c, caller); refused != OK {
		return refused
	}
	c.leave(name)
	return OK
}

func (w *World) needOpenManaged(c *Channel, caller string) Outcome {
	refused := w.needManager(c, caller)
	if refused == OK && !c.Open() {
		return "CHANNEL_CLOSED"
	}
	return refused
}

// Delete closes a channel and removes it with its messages; the copies in the log stay.
func (w *World) Delete(caller string, c *Channel) Outcome {
	if refused := w.needManager(c, caller); refused != OK {
		return refused
	}
	if c.Open() {
		c.close(w.Now)
	}
	c.Deleted = true
	return OK
}

// Visible reports whether a caller sees the channel itself, its name and its settings: everyone who may read its
// intent does.
func (w *World) Visible(caller string, c *Channel) Outcome {
	if c.Deleted {
		return "CHANNEL_NOT_FOUND"
	}
	return w.need(c.Intent, caller, Read)
}

// List returns an intent's channels: open ones first, each group oldest first. status is "", open or closed.
func (w *World) List(caller string, i *Intent, status string) ([]*Channel, Outcome) {
	if refused := w.need(i, caller, Read); refused != OK {
		return nil, refused
	}
	var open, closed []*Channel
	for _, c := range w.Channels {
		switch {
		case c.Intent != i || c.Deleted:
		case c.Open() && status != "closed":
			open = append(open, c)
		case !c.Open() && status != "open":
			closed = append(closed, c)
		}
	}
	return append(open, closed...), OK
}

func distinct(names []string) []string {
	var seen []string
	for _, name := range names {
		if !slices.Contains(seen, name) {
			seen = append(seen, name)
		}
	}
	return seen
}

func set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}
