package repomesh

import (
	"slices"
	"time"

	"openintent/internal/fault"
)

const (
	// defaultPage is how many events a page has unless its caller says, and largestPage how many it may have.
	defaultPage, largestPage = 20, 500
	// mostFetched is how many entries the door looks at in one channel, and in the log, for one page.
	mostFetched = 1_000
)

// filter says which events are wanted. Empty members filter nothing.
type filter struct {
	// name is the type, and legacy the older name that was asked for in its place.
	name, legacy string
	// to is the recipient; without broadcast only what is for it alone.
	to        string
	broadcast bool
	// only is the address that the payload has: all, or an agent.
	only     string
	from     string
	task     string
	parent   string
	contains string
}

// selective reports whether the filter leaves out something that the contract's lists have.
func (f filter) selective() bool {
	return f.name != "" || f.from != "" || f.task != "" || f.parent != "" || f.contains != "" || f.to != "" && !f.broadcast
}

// span is the part of time that is wanted, and in which order.
type span struct {
	since, before time.Time
	ascending     bool
	limit         int
}

// spanOf reads the arguments of a list.
func spanOf(since, before, direction *string, limit *int) (w span, err error) {
	w.limit = defaultPage
	if limit != nil {
		w.limit = *limit
	}
	if w.limit < 1 || w.limit > largestPage {
		return w, fault.BadField("limit", "must be 1 to %d.", largestPage)
	}
	if w.since, err = momentOf("since", since); err != nil {
		return w, err
	}
	if w.before, err = momentOf("before", before); err != nil {
		return w, err
	}
	switch value(direction) {
	case "", "desc":
	case "asc":
		w.ascending = true
	default:
		return w, fault.BadField("direction", "must be asc or desc.")
	}
	return w, nil
}

func momentOf(name string, said *string) (time.Time, error) {
	if value(said) == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, *said)
	if err != nil || at.Year() < 1970 || at.Year() > 9000 {
		return time.Time{}, fault.BadField(name, "must be an ISO 8601 time, such as 2026-02-22T23:20:00Z.")
	}
	return at, nil
}

// gathering merges events of several sources, in the order of time. The times of a mesh rise strictly, so a time leads on exactly.
type gathering struct {
	filter
	span
	// room bounds the bytes of a page.
	room   int
	events []*event
	bytes  int
	// horizon is how far the page can go: a source may have more beyond it.
	horizon time.Time
}

// fetch is how many entries of each source are enough.
func (g *gathering) fetch() int {
	if g.selective() || !g.ascending && !g.before.IsZero() {
		return mostFetched
	}
	return g.limit
}

// reachesOn reports whether a further page can look beyond so many entries of a source. Backwards, none looks beyond the newest ones.
func (g *gathering) reachesOn(fetched int) bool { return g.ascending || fetched < mostFetched }

// passes reports whether an event is wanted.
func (g *gathering) passes(e *event) bool {
	task, _ := e.Payload["task_id"].(string)
	parent, _ := e.Payload["parent_message_id"].(string)
	author, _ := e.Payload["from"].(string)
	to, _ := e.Payload["to"].(string)
	switch {
	case g.name != "" && e.Type != g.name, g.legacy != "" && e.LegacyType != g.legacy,
		g.from != "" && author != g.from && e.Payload["agent_id"] != g.from,
		g.task != "" && task != g.task, g.parent != "" && parent != g.parent,
		g.to != "" && !g.broadcast && to != g.to, g.only != "" && to != g.only,
		g.contains != "" && !e.contains(g.contains),
		!g.since.IsZero() && !e.at.After(g.since), !g.before.IsZero() && !e.at.Before(g.before):
		return false
	}
	return true
}

// add takes an event in, if it is wanted.
func (g *gathering) add(e *event) {
	if !g.passes(e) {
		return
	}
	g.events = append(g.events, e)
	g.bytes += e.size()
	if len(g.events) > 2*g.limit || g.bytes > 2*g.room {
		g.trim()
	}
}

// reached notes how far a source has been looked at, if it has more.
func (g *gathering) reached(at time.Time) {
	if g.horizon.IsZero() || g.later(g.horizon, at) {
		g.horizon = at
	}
}

// later reports whether one time comes after another on the page.
func (g *gathering) later(one, another time.Time) bool {
	if g.ascending {
		return one.After(another)
	}
	return one.Before(another)
}

// trim leaves as many events as a page may have.
func (g *gathering) trim() {
	slices.SortFunc(g.events, func(a, b *event) int {
		if g.ascending {
			return a.at.Compare(b.at)
		}
		return b.at.Compare(a.at)
	})
	kept := 0
	g.bytes = 0
	for kept < len(g.events) && kept < g.limit {
		size := g.events[kept].size()
		if kept > 0 && g.bytes+size > g.room {
			break
		}
		g.bytes += size
		kept++
	}
	if kept < len(g.events) {
		g.reached(g.events[kept-1].at)
		g.events = slices.Delete(g.events, kept, len(g.events))
	}
}

// listAnswer is a page of events. Next leads on: as since if the list ascends, and as before if it does not.
type listAnswer struct {
	// Events and Items are the same list; a model gets Items alone.
	Events *[]*event `json:"events,omitempty"`
	Items  []*event  `json:"items"`
	Count  int       `json:"count"`
	// LatestSeen is the time of the latest event of the page or, without any, the since of the request: with it as since and asc, a list
	// goes on.
	LatestSeen *string `json:"latest_seen_at"`
	Next       string  `json:"next,omitempty"`
	// MoreChannels says that the mesh has more channels than were looked into; name one to look into it.
	MoreChannels bool `json:"more_channels,omitempty"`
}

// ended reports whether nothing that is wanted lies beyond the horizon.
func (g *gathering) ended() bool {
	if g.ascending {
		return !g.before.IsZero() && !g.horizon.Before(g.before)
	}
	return !g.since.IsZero() && !g.horizon.After(g.since)
}

// page ends the gathering.
func (g *gathering) page() listAnswer {
	g.trim()
	if !g.horizon.IsZero() {
		g.events = slices.DeleteFunc(g.events, func(e *event) bool { return g.later(e.at, g.horizon) })
	}
	answer := listAnswer{Items: g.events, Count: len(g.events)}
	if answer.Items == nil {
		answer.Items = []*event{}
	}
	latest := g.since
	for _, e := range g.events {
		if e.at.After(latest) {
			latest = e.at
		}
	}
	if !latest.IsZero() {
		answer.LatestSeen = new(latest.UTC().Format(stampLayout))
	}
	if !g.horizon.IsZero() && !g.ended() {
		answer.Next = g.horizon.UTC().Format(stampLayout)
	}
	return answer
}
