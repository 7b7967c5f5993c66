package agentchannel

import (
	"context"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
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
)

// presences returns the agents that posted something of late, and those that hold work by the state.
func (d *Desk) presences(ctx context.Context, channel *openintentv1.Channel, state *openintentv1.Message) (map[string]Presence, error) {
	silence := silences * d.Cadence
	since := d.now().Add(-silence)
	seen, all, err := d.seenSince(ctx, channel, since)
	if err != nil {
		return nil, err
	}
	shown := make(map[string]Presence)
	open := statusOf(channel) == "open"
	for _, agent := range holders(state) {
		if len(shown) == mostPresences {
			break
		}
		_, alive := seen[agent]
		// Whoever got its work a moment ago has had no time to be silent.
		taken := state.GetCreatedAt().AsTime().After(since)
		shown[agent] = Presence{HoldsWork: true, PresumedDead: open && all && !alive && !taken}
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
		messages, err := d.messages(ctx, channel, Selection{After: &after, Limit: mostEvents})
		if err != nil {
			return nil, false, err
		}
		for _, m := range messages {
			seen[m.GetSender()] = m.GetCreatedAt().AsTime()
			after = m.GetId()
		}
		if len(messages) == 0 {
			return seen, true, nil
		}
	}
	return seen, false, nil
}

// holders returns the agents that hold work by a state: the handoff's holder first, and then those of concepts. The protocol leaves the
// payload of a state to the agents; what is read of it is `handoff` (an agent, or an object with its `holder`) and `concepts` (a list or an
// object of objects with a `holder` or `owner` and a `status`).
func holders(state *openintentv1.Message) (agents []string) {
	payload := state.GetPayload().AsMap()
	add := func(value any) {
		if agent, isText := value.(string); isText && agent != "" {
			agents = append(agents, agent)
		}
	}
	add(handoffHolder(payload))
	var concepts []any
	switch listed := payload["concepts"].(type) {
	case []any:
		concepts = listed
	case map[string]any:
		for _, concept := range listed {
			concepts = append(concepts, concept)
		}
	}
	for _, listed := range concepts {
		concept, isObject := listed.(map[string]any)
		if !isObject || isDone(concept["status"]) {
			continue
		}
		add(concept["holder"])
		add(concept["owner"])
	}
	return agents
}

// handoffHolder returns who holds the handoff by the payload of a state; nil for nobody.
func handoffHolder(payload map[string]any) any {
	if handoff, isObject := payload["handoff"].(map[string]any); isObject {
		return handoff["holder"]
	}
	return payload["handoff"]
}

// isDone reports whether a concept's status says that nobody works on it any more.
func isDone(status any) bool {
	switch status {
	case "done", "completed", "closed", "abandoned", "rejected":
		return true
	}
	return false
}
