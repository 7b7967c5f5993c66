package messaging

import (
	"testing"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

func TestNearest(t *testing.T) {
	names := []string{"builder", "data-agent", "ci", "rita", "rito", "release-agent"}
	for word, want := range map[string]string{
		"bulider": "builder", "Builder": "builder", "build": "builder", "data": "data-agent", "data-agent-2": "data-agent", "data_agent": "data-agent",
		"ritas": "rita", "cj": "ci", "c": "ci", "": "", "nobody": "", "agent": "", "release-agents": "release-agent",
	} {
		require.Equal(t, want, nearest(word, names), word)
	}
	require.Empty(t, nearest("anybody", nil))
	require.Equal(t, 3, distance("kitten", "sitting"))
	require.Equal(t, 4, distance("", "four"))
}

func TestFailFastRefusesWhatNobodyIsThereToReceive(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		h.register(t, "bob", "clerk")
		h.register(t, "gone", "")
		h.deregister(t, "gone")
		h.register(t, "dora", "porter")
		h.drain(t, "dora")
		for to, cause := range map[string]string{
			"bib": "NEVER_SEEN", "gone": "AWAY", "role:cook": "NOBODY_HOLDS_ROLE", "dora": "AWAY", "role:porter": "AWAY",
		} {
			_, sendErr := h.messaging.SendMessage(as("alice"), &sendRequest{ChannelId: id, To: &to, FailFast: ptr(true)})
			_, askErr := h.messaging.Ask(as("alice"), &askRequest{ChannelId: id, To: to, Payload: content("?"), FailFast: ptr(true)})
			for _, err := range []error{sendErr, askErr} {
				f := faulttest.Require(t, err, fault.Conflict, "NOBODY_THERE")
				require.Equal(t, cause, f.Metadata["cause"])
				require.Equal(t, to, f.Metadata["to"])
			}
			if to == "bib" {
				require.Contains(t, askErr.Error(), "did you mean bob?")
			}
		}
		require.Empty(t, h.listed(t, "alice", &listRequest{ChannelId: id}), "nothing was stored")
		for _, to := range []string{"bob", "role:clerk", "*"} {
			_, err := h.messaging.SendMessage(as("alice"), &sendRequest{ChannelId: id, To: &to, Payload: content("here"), FailFast: ptr(true)})
			require.NoError(t, err, to)
		}

		first := h.send(t, "alice", &sendRequest{ChannelId: id, To: ptr("bob"), Payload: content("once"), IdempotencyKey: ptr("k"), FailFast: ptr(true)})
		h.deregister(t, "bob")
		again := h.send(t, "alice", &sendRequest{ChannelId: id, To: ptr("bob"), Payload: content("once"), IdempotencyKey: ptr("k"), FailFast: ptr(true)})
		require.Equal(t, first.GetId(), again.GetId(), "what is stored is answered as before")
	})
}

// A caller that may not take part in the channel does not learn which agents are there.
func TestFailFastTellsStrangersNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.explicit(t, "alice")
		_, err := h.messaging.SendMessage(as("mallory"), &sendRequest{ChannelId: id, To: ptr("nobody"), FailFast: ptr(true)})
		require.Error(t, err)
		require.NotContains(t, err.Error(), "nobody")
		_, plain := h.messaging.SendMessage(as("mallory"), &sendRequest{ChannelId: id, To: ptr("nobody")})
		require.Equal(t, plain.Error(), err.Error())
	})
}

func TestAWaitThatEndsSaysWhy(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		asked := h.send(t, "alice", &sendRequest{ChannelId: id, To: ptr("bib"), MessageType: ptr(request)})
		h.register(t, "bob", "")
		await := func(explain bool) *openintentv1.AwaitResponsesResponse {
			found, err := h.messaging.AwaitResponses(as("alice"), &awaitRequest{ChannelId: id, MessageId: asked.GetId(), Explain: &explain})
			require.NoError(t, err)
			return found
		}
		require.Empty(t, await(false).GetCause())
		found := await(true)
		require.Equal(t, "NEVER_SEEN", found.GetCause())
		require.Equal(t, `bib has not answered on channel "talk": no agent of that name was ever registered (did you mean bob?).`, found.GetExplanation())
		h.reply(t, "bib", id, asked.GetId(), "I am here")
		require.Empty(t, await(true).GetCause())
	})
}
