package scenarios

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// face is what one agent does, over one of the server's two faces. A method that must succeed fails the test
// otherwise; a method that may be refused returns the refusal.
type face interface {
	createIntent(title string) (intentID string)
	createChannel(intentID, name string, audit bool, members ...string) (channelID string)
	send(channelID string, m message) (message, *refusal)
	sendByName(intentID, name string, m message) (message, *refusal)
	ask(channelID, to string, payload object, seconds float64) (message, *refusal)
	reply(channelID, requestID string, payload object) (message, *refusal)
	list(channelID, since string) ([]message, *refusal)
	markRead(channelID, messageID string) message
	// follow streams the channel's messages from after a position until the context ends.
	follow(ctx context.Context, channelID string, after int64) <-chan delivery
	state(intentID string) (state object, version int64)
	completeIntent(intentID string)
	events(intentID string) []event
	verifies(intentID string) bool
	channel(channelID string) channel
}

type object = map[string]any

// message is a message in the form that both faces share.
type message struct {
	ID            string  `json:"id,omitempty"`
	ChannelID     string  `json:"channel_id,omitempty"`
	Sender        string  `json:"sender,omitempty"`
	To            *string `json:"to,omitempty"`
	MessageType   string  `json:"message_type,omitempty"`
	CorrelationID *string `json:"correlation_id,omitempty"`
	Payload       object  `json:"payload"`
	Status        string  `json:"status,omitempty"`
	ReadAt        *string `json:"read_at,omitempty"`
}

// delivery is a message that came over a stream, with its position.
type delivery struct {
	message
	position int64
}

type event struct {
	EventType string `json:"event_type"`
	Actor     string `json:"actor"`
	Payload   object `json:"payload"`
}

type channel struct {
	Status       string `json:"status"`
	MessageCount int64  `json:"message_count"`
}

// refusal is why the server refused a call.
type refusal struct {
	Code      string `json:"code"`
	Reason    string `json:"reason"`
	MessageID string `json:"message_id"`
}

// refused checks that a call was refused for this reason.
func refused(t *testing.T, got *refusal, reason string) {
	t.Helper()
	require.NotNil(t, got, "it was not refused")
	require.Equal(t, reason, got.Reason)
}

// allowed checks that a call was not refused.
func allowed(t *testing.T, got *refusal) {
	t.Helper()
	require.Nil(t, got)
}

func to(agent string) *string { return &agent }

// cast assigns each agent of a scenario its face.
type cast func(agent string) face

// play runs a scenario on both engines with every cast.
func play(t *testing.T, scenario func(t *testing.T, as cast)) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		overGRPC := func(t *testing.T) cast { return func(agent string) face { return grpcFace{t, h.As(agent)} } }
		overREST := func(t *testing.T) cast { return func(agent string) face { return restFace{t, h.As(agent), h.HTTP} } }
		t.Run("gRPC", func(t *testing.T) { scenario(t, overGRPC(t)) })
		t.Run("REST", func(t *testing.T) { scenario(t, overREST(t)) })
		for odd, name := range []string{"mixed", "mixed the other way"} {
			t.Run(name, func(t *testing.T) {
				faces := make(map[string]face)
				scenario(t, func(agent string) face {
					if faces[agent] == nil {
						faces[agent] = [2]cast{overGRPC(t), overREST(t)}[(len(faces)+odd)%2](agent)
					}
					return faces[agent]
				})
			})
		}
	})
}

// next waits for the next delivery of a stream.
func next(t *testing.T, stream <-chan delivery) delivery {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	select {
	case d, open := <-stream:
		require.True(t, open, "the stream ended")
		return d
	case <-ctx.Done():
		t.Fatal("nothing was delivered in time")
	}
	return delivery{}
}
