package repomesh

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

// gone is an inbox of which some messages cannot be read, each for a reason. It marks all that it is asked to, or nothing.
type gone struct {
	openintentv1.MessageServiceClient
	because map[string]string
	asked   []string
	read    []string
}

func (g *gone) MarkInboxRead(
	_ context.Context, r *openintentv1.MarkInboxReadRequest, _ ...grpc.CallOption,
) (*openintentv1.MarkInboxReadResponse, error) {
	g.asked = append(g.asked, r.GetMessageIds()...)
	for _, id := range r.GetMessageIds() {
		if reason := g.because[id]; reason != "" {
			return nil, fault.New(fault.NotFound, reason, "No.").With("message_id", id)
		}
	}
	g.read = slices.Clone(r.GetMessageIds())
	return &openintentv1.MarkInboxReadResponse{}, nil
}

// A message that expired or was deleted after the list does not stop the others from being marked. The door does not try messages that the
// list shows as expired, nor entries of the log.
func TestWhatCannotBeReadKeepsNothingElseUnread(t *testing.T) {
	var events []*event
	for _, id := range []string{"a", "b", "c", "d"} {
		events = append(events, &event{ID: id, Channel: "default", Status: "delivered"})
	}
	events = append(events, &event{ID: "late", Channel: "default", Status: "expired"}, &event{ID: "log"})
	inbox, s := &gone{because: map[string]string{"b": "MESSAGE_EXPIRED", "d": "MESSAGE_NOT_FOUND"}}, ann()
	s.caller.Messages = inbox
	require.NoError(t, s.markRead(t.Context(), events))
	require.Equal(t, []string{"a", "c"}, inbox.read)
	require.NotContains(t, inbox.asked, "late")
	require.NotContains(t, inbox.asked, "log")

	inbox.because["c"] = "KEY_READ_ONLY"
	require.ErrorContains(t, s.markRead(t.Context(), events), "No.")
}
