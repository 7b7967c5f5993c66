package repomesh

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
)

// eventList lists what was said in one channel and, in the default one, what happened to locks and tasks.
var eventList = newAction("event.list", "What was said in a channel (default: default), newest first; next leads on as before or since.", nil,
	append([]property{text("channel"), text("agent_id"), text("recipient_id"), yes("include_broadcast")}, listProperties...),
	func(ctx context.Context, s *session, given listArguments) (any, error) {
		g, err := given.gathering(s)
		if err != nil {
			return nil, err
		}
		g.from, g.to, g.broadcast = value(given.AgentID), value(given.Recipient), given.Broadcast != nil && *given.Broadcast
		name := value(given.Channel)
		if name == "" {
			name = DefaultChannel
		}
		return s.gather(ctx, g, name)
	})

// listProperties are the arguments that all lists have.
var listProperties = []property{
	text("type"), text("task_id"), text("parent_message_id"), text("payload_contains"), text("since"), text("before"), text("direction"),
	whole("limit"),
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

// contains tells whether a text occurs in the payload, whatever the case.
func (e *event) contains(text string) bool {
	written, _ := json.Marshal(e.Payload)
	return strings.Contains(strings.ToLower(string(written)), strings.ToLower(text))
}

// gather looks into the channel of a name, or into the channels of the mesh if the name is empty. What happened to locks and tasks
// is for everyone, and belongs to the default channel.
func (s *session) gather(ctx context.Context, g *gathering, name string) (any, error) {
	leave, err := s.door.lists.enter(ctx, s.caller.Agent)
	if err != nil {
		return nil, err
	}
	defer leave()
	channels, more, err := s.channels(ctx, name)
	if err != nil {
		return nil, err
	}
	for _, channel := range channels {
		if err := s.look(ctx, g, channel); err != nil {
			return nil, err
		}
	}
	if (name == "" || name == DefaultChannel) && (g.to == "" || g.broadcast) {
		if err := s.history(ctx, g); err != nil {
			return nil, err
		}
	}
	answer := g.page()
	answer.MoreChannels = more
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
	size := 0
	for _, m := range messages {
		size += proto.Size(m)
		g.add(eventOf(m, channel.GetName(), s.room))
	}
	cut := len(messages) == fetch || size > nearlyFull
	if end, err := time.Parse(time.RFC3339Nano, page.GetNextSince()); g.ascending && page.GetBounded() && err == nil {
		g.reached(end)
	} else if cut && g.reachesOn(fetch) && len(messages) > 0 {
		g.reached(messages[len(messages)-1].GetCreatedAt().AsTime())
	}
	return nil
}
