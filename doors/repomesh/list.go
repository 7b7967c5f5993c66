package repomesh

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
)

// eventList lists what was said in one channel or in all, and what happened to locks and tasks, which belongs to the default channel.
var eventList = newAction("event.list", "What was said in all channels, or in one, newest first; next leads on as before or since.", nil,
	append([]property{text("channel"), text("agent_id"), text("recipient_id"), yes("include_broadcast")}, listProperties...),
	func(ctx context.Context, s *session, given listArguments) (any, error) {
		g, err := given.gathering(s)
		if err != nil {
			return nil, err
		}
		g.from, g.to, g.broadcast = value(given.AgentID), value(given.Recipient), given.Broadcast != nil && *given.Broadcast
		return s.list(ctx, g, given)
	}).by("recipient_id").anyone()

// listProperties are the arguments that all lists have.
var listProperties = []property{
	text("type"), text("task_id"), text("parent_message_id"), text("payload_contains"), text("since"), text("before"), text("direction"),
	whole("limit"), yes("include_payload"),
}

type listArguments struct {
	repeats
	Channel   *string `json:"channel"`
	AgentID   *string `json:"agent_id"`
	Recipient *string `json:"recipient_id"`
	Broadcast *bool   `json:"include_broadcast"`
	MarkRead  bool    `json:"mark_read"`
	Type      *string `json:"type"`
	TaskID    *string `json:"task_id"`
	ParentID  *string `json:"parent_message_id"`
	Contains  *string `json:"payload_contains"`
	Since     *string `json:"since"`
	Before    *string `json:"before"`
	Direction *string `json:"direction"`
	Limit     *int    `json:"limit"`
	// Payload is false if the events shall come without their payloads.
	Payload *bool `json:"include_payload"`
}

// gathering reads what the arguments of a list have in common.
func (given listArguments) gathering(s *session) (*gathering, error) {
	wanted, err := spanOf(given.Since, given.Before, given.Direction, given.Limit)
	if err != nil {
		return nil, err
	}
	g := &gathering{span: wanted, room: s.page}
	g.task, g.parent, g.contains = value(given.TaskID), value(given.ParentID), value(given.Contains)
	if name := value(given.Type); name != "" {
		if g.name, g.legacy, err = typeOf(name); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// contains reports whether a text occurs in the payload, whatever the case.
func (e *event) contains(text string) bool {
	written, _ := json.Marshal(e.Payload)
	return strings.Contains(strings.ToLower(string(written)), strings.ToLower(text))
}

// list gathers what the arguments of a list ask for.
func (s *session) list(ctx context.Context, g *gathering, given listArguments) (listAnswer, error) {
	answer, err := s.gather(ctx, g, value(given.Channel))
	if err != nil {
		return listAnswer{}, err
	}
	if given.Payload != nil && !*given.Payload {
		for _, e := range answer.Items {
			e.Payload = nil
		}
	}
	return answer, nil
}

// gather looks into the channel of a name, or into the channels of the mesh if the name is empty. What happened to locks and tasks
// is for everyone, and belongs to the default channel.
func (s *session) gather(ctx context.Context, g *gathering, name string) (listAnswer, error) {
	leave, err := s.door.lists.enter(ctx, s.caller.Agent)
	if err != nil {
		return listAnswer{}, err
	}
	defer leave()
	channels, more, err := s.channels(ctx, name)
	if err != nil {
		return listAnswer{}, err
	}
	for _, channel := range channels {
		if err := s.look(ctx, g, channel); err != nil {
			return listAnswer{}, err
		}
	}
	if (name == "" || name == DefaultChannel) && (g.to == "" || g.broadcast) {
		if err := s.history(ctx, g); err != nil {
			return listAnswer{}, err
		}
	}
	answer := g.page()
	answer.MoreChannels = more
	if !s.model {
		answer.Events = &answer.Items
	}
	return answer, nil
}

// epoch is before every message. A list that ascends begins after it.
const epoch = "1970-01-01T00:00:00Z"

// look adds to a gathering what a channel has.
func (s *session) look(ctx context.Context, g *gathering, channel *openintentv1.Channel) error {
	fetch := g.fetch()
	request := &openintentv1.ListMessagesRequest{ChannelId: channel.GetId(), Limit: new(int32(fetch))}
	if g.to != "" {
		request.To = &g.to
	}
	if g.ascending {
		request.Since = new(epoch)
		if !g.since.IsZero() {
			request.Since = new(g.since.UTC().Format(time.RFC3339Nano))
		}
	}
	page, err := s.caller.Messages.ListMessages(ctx, request)
	if err != nil {
		return unless(err, "CHANNEL_NOT_FOUND", "NOT_A_MEMBER")
	}
	messages := page.GetMessages()
	if !g.ascending {
		slices.Reverse(messages)
	}
	for _, m := range messages {
		g.add(eventOf(m, channel.GetName(), s.room))
	}
	cut := doors.MayBeCut(messages, fetch)
	if end, err := time.Parse(time.RFC3339Nano, page.GetNextSince()); g.ascending && page.GetBounded() && err == nil {
		g.reached(end)
	} else if cut && g.reachesOn(fetch) && len(messages) > 0 {
		g.reached(messages[len(messages)-1].GetCreatedAt().AsTime())
	}
	return nil
}
