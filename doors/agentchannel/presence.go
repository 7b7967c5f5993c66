package agentchannel

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/jsonvalue"
)

// Presence is what the channel shows of one agent.
type Presence struct {
	// LastSeen is when it last posted something of late; empty if it has not.
	LastSeen string `json:"last_seen,omitempty"`
	// HoldsWork is true for the handoff's holder and for whoever holds a concept that is not done.
	HoldsWork    bool `json:"holds_work"`
	PresumedDead bool `json:"presumed_dead"`
}

const (
	// mostPresences bounds the agents that a page shows.
	mostPresences = 100
	// presencePages bounds how many pages of events are read to find out who is alive. If there are more, nobody is presumed dead.
	presencePages = 5
	// statesRead is how many states are read to find out since when an agent holds work, and stateBytes how many bytes of them.
	statesRead = 100
	stateBytes = 512 << 10
)

// presences returns the agents that posted something of late, and those that hold work by the state. Who is presumed dead depends on its
// own events alone: no state that names it keeps it alive. But who got work of late has had no time to be silent.
func (d *Desk) presences(ctx context.Context, channel *openintentv1.Channel, state *Event) (map[string]Presence, error) {
	since := d.now().Add(-silences * d.Cadence)
	seen, all, err := d.seenSince(ctx, channel, since)
	if err != nil {
		return nil, err
	}
	shown := make(map[string]Presence)
	var silent []string
	for _, agent := range holders(state) {
		if len(shown) == mostPresences {
			break
		}
		if _, alive := seen[agent]; !alive {
			silent = append(silent, agent)
		}
		shown[agent] = Presence{HoldsWork: true}
	}
	if statusOf(channel) == "open" && all && len(silent) > 0 {
		held, err := d.heldSince(ctx, channel, state, since)
		if err != nil {
			return nil, err
		}
		for _, agent := range silent {
			if _, shows := shown[agent]; shows {
				shown[agent] = Presence{HoldsWork: true, PresumedDead: held(agent)}
			}
		}
	}
	for agent, at := range seen {
		presence, known := shown[agent]
		if !known && len(shown) >= mostPresences {
			continue
		}
		presence.LastSeen = moment(at)
		shown[agent] = presence
	}
	return shown, nil
}

// seenSince returns who has posted since a time, and when last. all is false if there were more events than are looked at.
func (d *Desk) seenSince(ctx context.Context, channel *openintentv1.Channel, since time.Time) (seen map[string]time.Time, all bool, err error) {
	seen = make(map[string]time.Time)
	if at := channel.GetLastMessageAt(); at == nil || at.AsTime().Before(since) {
		return seen, true, nil
	}
	after := since.UTC().Format(time.RFC3339Nano)
	for range presencePages {
		page, err := d.Caller.Messages.ListMessages(ctx, &openintentv1.ListMessagesRequest{
			ChannelId: channel.GetId(), Since: &after, Limit: new(int32(mostEvents)), WithoutContents: new(true),
		})
		if err != nil {
			return nil, false, err
		}
		for _, m := range page.GetMessages() {
			seen[m.GetSender()] = m.GetCreatedAt().AsTime()
			after = m.GetId()
		}
		switch {
		case page.GetBounded():
			after = page.GetNextSince()
		case len(page.GetMessages()) == 0:
			return seen, true, nil
		}
	}
	return seen, false, nil
}

// heldSince returns who has held work since a time by all states that counted in between. If these are too many to be read, it goes by those
// that are read.
func (d *Desk) heldSince(ctx context.Context, channel *openintentv1.Channel, state *Event, since time.Time) (func(agent string) bool, error) {
	from := moment(since)
	if state.CreatedAt <= from {
		return func(string) bool { return true }, nil
	}
	states, err := d.events(ctx, channel, Selection{Kind: new(kindState), Limit: statesRead}, stateBytes)
	if err != nil {
		return nil, err
	}
	began := make(map[string]bool) // whether each holder of the newest state held work in all of them
	for _, agent := range holders(state) {
		began[agent] = true
	}
	reached := false
	for i := range states {
		for agent := range began {
			began[agent] = began[agent] && slices.Contains(holders(&states[i]), agent)
		}
		if reached = states[i].CreatedAt <= from; reached {
			break
		}
	}
	if !reached && len(states) < statesRead && sizeOf(states) < stateBytes/2 {
		return func(string) bool { return false }, nil // the channel's first state came of late
	}
	return func(agent string) bool { return began[agent] }, nil
}

// longestName is how many bytes of a state's texts may be the name of an agent.
const longestName = 256

// holders returns the agents that hold work by a state: the handoff's holder first, and then those of concepts. The protocol leaves the
// payload of a state to the agents; what is read of it is `handoff` (an agent, or an object with its `holder`) and `concepts` (a list or an
// object of objects with a `holder` or `owner` and a `status`). A text that no agent can be named by is no name.
func holders(state *Event) (agents []string) {
	if state == nil {
		return nil
	}
	add := func(value []byte) {
		if len(value) == 0 || value[0] != '"' {
			return
		}
		name := jsonvalue.Unquote(value)
		if name != "" && len(name) <= longestName && !strings.ContainsFunc(name, unicode.IsControl) {
			agents = append(agents, name)
		}
	}
	handoff := member(state.Payload, "handoff")
	if isObject(handoff) {
		handoff = member(handoff, "holder")
	}
	add(handoff)
	for concept := range entries(member(state.Payload, "concepts")) {
		if !isObject(concept) || isDone(member(concept, "status")) {
			continue
		}
		add(member(concept, "holder"))
		add(member(concept, "owner"))
		if len(agents) > mostPresences {
			break
		}
	}
	return agents
}

func isObject(value []byte) bool { return len(value) > 0 && value[0] == '{' }

// member returns a member of an object; nil if there is none.
func member(object []byte, name string) []byte {
	for key, value := range jsonvalue.Members(object) {
		if string(key) == name {
			return value
		}
	}
	return nil
}

// entries walks the values of a list or an object. Another value has none.
func entries(value []byte) iter.Seq[[]byte] {
	switch {
	case isObject(value):
		return func(yield func([]byte) bool) {
			for _, entry := range jsonvalue.Members(value) {
				if !yield(entry) {
					return
				}
			}
		}
	case len(value) > 0 && value[0] == '[':
		return jsonvalue.Elements(value)
	}
	return func(func([]byte) bool) {}
}

// isDone reports whether a concept's status says that nobody works on it any more.
func isDone(status []byte) bool {
	switch string(status) {
	case `"done"`, `"completed"`, `"closed"`, `"abandoned"`, `"rejected"`:
		return true
	}
	return false
}
