package mcp

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

// mostMarked is how many messages one call marks at most.
const mostMarked = 20

// The signals of mark that are no reactions: two steps of a delivery, and the dispositions that do not follow from a reaction of the
// same name. From a reaction its disposition follows.
const (
	signalRead     = "read"
	signalSurfaced = "surfaced"
)

var (
	reactions    = []string{"seen", "agree", "working", "queued", "claimed", "done", "declined", "blocked", "unclear"}
	dispositions = []string{"responded", "acknowledged", "deferred", "ignored", "superseded", "failed"}
	signals      = slices.Concat([]string{signalRead, signalSurfaced}, reactions, dispositions)
)

// mark says what the caller does, or did, with messages.
var mark = newTool(repeats, "mark", "Mark messages read or surfaced, react with a signal, or say what became of them. Takes no claim.",
	`"messages":{"type":"array","items":{"type":"string"}},"signal":{"type":"string","enum":["`+strings.Join(signals, `","`)+`"]},`+
		`"note":{"type":"string","description":"why"}`,
	[]string{"messages", "signal"},
	func(ctx context.Context, s *session, given markArguments) (any, error) {
		marked, err := s.marking(given)
		if err != nil {
			return nil, err
		}
		ids := make([]string, 0, len(given.Messages))
		for _, id := range given.Messages {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
		if len(ids) == 0 || len(ids) > mostMarked {
			return nil, fault.BadField("messages", "must be 1 to %d ids.", mostMarked)
		}
		return marked(ctx, ids)
	})

type markArguments struct {
	Messages []string `json:"messages"`
	Signal   string   `json:"signal"`
	// Note goes beside a reaction, or says why there is a disposition.
	Note *string `json:"note"`
}

// errNoteAlone refuses a note where the contract has none.
var errNoteAlone = fault.BadField("note", "goes with a reaction or with what became of a message, not with read or surfaced; leave it out.")

// markedAnswer says how many messages were marked, and why the others were not.
type markedAnswer struct {
	Marked  int           `json:"marked"`
	Refused []refusedMark `json:"refused,omitempty"`
}

// refusedMark is a refusal with the messages that it is about.
type refusedMark struct {
	Refused  string   `json:"refused"`
	Message  string   `json:"message"`
	Messages []string `json:"messages"`
}

// marking returns what a signal does with messages.
func (s *session) marking(given markArguments) (func(ctx context.Context, ids []string) (any, error), error) {
	switch signal := given.Signal; {
	case given.Note != nil && (signal == signalRead || signal == signalSurfaced):
		return nil, errNoteAlone
	case signal == signalRead:
		return s.together(s.markRead), nil
	case signal == signalSurfaced:
		return s.together(func(ctx context.Context, ids []string) error {
			_, err := s.caller.Attention.MarkSurfaced(ctx, &openintentv1.MarkSurfacedRequest{AgentId: s.caller.Agent, MessageIds: ids})
			return err
		}), nil
	case slices.Contains(reactions, signal):
		return s.oneByOne(func(ctx context.Context, channel, message string) error {
			_, err := s.caller.Reactions.AddReaction(ctx, &openintentv1.AddReactionRequest{
				ChannelId: channel, MessageId: message, Signal: signal, Note: given.Note,
			})
			return err
		}), nil
	case slices.Contains(dispositions, signal):
		return s.oneByOne(func(ctx context.Context, channel, message string) error {
			_, err := s.caller.Attention.SetDisposition(ctx, &openintentv1.SetDispositionRequest{
				ChannelId: channel, MessageId: message, Disposition: signal, Reason: given.Note,
			})
			return err
		}), nil
	}
	return nil, fault.BadField("signal", "must be one of %s.", strings.Join(signals, ", "))
}

// markRead marks messages read, all or none.
func (s *session) markRead(ctx context.Context, ids []string) error {
	_, err := s.caller.Messages.MarkInboxRead(ctx, &openintentv1.MarkInboxReadRequest{AgentId: s.caller.Agent, MessageIds: ids})
	return err
}

// together marks messages with one call of the contract, which marks all or none. It leaves out those that a refusal names, and tries
// the others again.
func (s *session) together(call func(ctx context.Context, ids []string) error) func(ctx context.Context, ids []string) (any, error) {
	return func(ctx context.Context, ids []string) (any, error) {
		var answer markedAnswer
		for all := len(ids); len(ids) > 0; {
			err := call(ctx, ids)
			if err == nil {
				answer.Marked = len(ids)
				break
			}
			refusal := doors.RefusalOf(err)
			at := slices.Index(ids, refusal.Facts["message_id"])
			if at < 0 || all == 1 {
				return nil, err
			}
			answer.leaveOut(ids[at], refusal)
			ids = slices.Delete(ids, at, at+1)
		}
		return answer, nil
	}
}

// oneByOne marks messages with one call of the contract for each.
func (s *session) oneByOne(
	call func(ctx context.Context, channel, message string) error,
) func(ctx context.Context, ids []string) (any, error) {
	return func(ctx context.Context, ids []string) (any, error) {
		var answer markedAnswer
		for _, id := range ids {
			message, err := s.message(ctx, id)
			if err == nil {
				err = call(ctx, message.GetChannelId(), id)
			}
			refusal := doors.RefusalOf(err)
			switch {
			case err == nil:
				s.tookMessage(ctx, message)
				answer.Marked++
			case len(ids) == 1, ofAll(refusal.Code) && answer.Marked == 0:
				return nil, err
			default:
				s.failed(ctx, "tool", "mark", err)
				answer.leaveOut(id, refusal)
			}
		}
		return answer, nil
	}
}

// ofAll reports whether a refusal says something about the call and not about its message.
func ofAll(code codes.Code) bool {
	return code == codes.Unauthenticated || code == codes.Unavailable || code == codes.Internal || code == codes.Canceled
}

// leaveOut notes why a message was not marked.
func (a *markedAnswer) leaveOut(id string, refusal doors.Refusal) {
	for i := range a.Refused {
		if a.Refused[i].Refused == refusal.Reason && a.Refused[i].Message == refusal.Message {
			a.Refused[i].Messages = append(a.Refused[i].Messages, id)
			return
		}
	}
	a.Refused = append(a.Refused, refusedMark{refusal.Reason, refusal.Message, []string{id}})
}
