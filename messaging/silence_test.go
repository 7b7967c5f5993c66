package messaging

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

// unanswered asks a question of alice's, lets its time run out, and returns the error.
func (h *house) unanswered(t *testing.T, channelID, to string, meanwhile func(request *wireMessage)) fault.Fault {
	t.Helper()
	ended := make(chan answered, 1)
	go func() {
		m, err := h.messaging.Ask(as("alice"), &askRequest{ChannelId: channelID, To: to, TimeoutSeconds: ptr(12.5)})
		ended <- answered{m, err}
	}()
	request := h.awaitRequest(t, channelID)
	meanwhile(request)
	h.clock.Set(request.GetExpiresAt().AsTime())
	f := faulttest.Require(t, asked{request, ended}.result(t).err, fault.TimedOut, "MESSAGE_TIMEOUT")
	require.Equal(t, request.GetId(), f.Metadata["message_id"])
	require.Equal(t, to, f.Metadata["to"])
	require.Equal(t, channelID, f.Metadata["channel_id"])
	require.Equal(t, "talk", f.Metadata["channel"])
	require.Equal(t, "12.5", f.Metadata["timeout_seconds"])
	return f
}

func TestATimeoutSaysWhyNobodyAnswered(t *testing.T) {
	nothing := func(*wireMessage) {}
	eachEngine(t, func(t *testing.T, h *house) {
		receives := func(agents ...string) func(*wireMessage) {
			return func(*wireMessage) {
				for _, agent := range agents {
					require.Len(t, h.inbox(t, agent).GetItems(), 1)
				}
			}
		}
		h.register(t, "bob", "")
		h.register(t, "rita", "reviewer")
		h.register(t, "ron", "reviewer")
		h.register(t, "early", "former")
		h.deregister(t, "early")
		h.clock.Advance(time.Minute)
		h.register(t, "gone", "former")
		left := h.clock.Now()
		h.deregister(t, "gone")
		h.register(t, "dora", "porter")
		h.drain(t, "dora")
		for _, row := range []struct {
			name, to  string
			meanwhile func(*wireMessage)
			cause     string
			why       string
		}{
			{"never registered", "nobody", nothing, "NEVER_SEEN", "no agent of that name was ever registered"},
			{"a slip of the pen", "Rito", nothing, "NEVER_SEEN", "no agent of that name was ever registered (did you mean rita?)"},
			{"a slip in a role", "role:reviwer", nothing, "NOBODY_HOLDS_ROLE", "nobody holds the role (did you mean role:reviewer?)"},
			{"left", "gone", nothing, "AWAY", "it has been away since " + left.Format(time.RFC3339)},
			{"leaving", "dora", nothing, "AWAY", "it is leaving, and takes nothing new"},
			{"a role whose holder is leaving", "role:porter", nothing, "AWAY", "everybody who holds the role is leaving, and takes nothing new"},
			{"registered", "bob", nothing, "NOT_RECEIVED", "it is registered, and has not received the request"},
			{"received", "bob", receives("bob"), "NOT_ANSWERED", "it received the request and did not answer"},
			{"a role that nobody ever had", "role:none", nothing, "NOBODY_HOLDS_ROLE", "nobody holds the role"},
			{"a role whose holder left", "role:former", nothing, "AWAY", "everybody who held the role has been away since " + left.Format(time.RFC3339)},
			{"a role", "role:reviewer", nothing, "NOT_RECEIVED", "2 agents hold the role, and none has received the request"},
			{"a role, received", "role:reviewer", receives("rita"), "NOT_ANSWERED", "1 agent received the request and did not answer"},
			{"a role, received by all", "role:reviewer", receives("rita", "ron"), "NOT_ANSWERED", "2 agents received the request and did not answer"},
		} {
			f := h.unanswered(t, h.open(t), row.to, row.meanwhile)
			require.Equal(t, row.cause, f.Metadata["cause"], row.name)
			require.Equal(t, row.to+` did not answer on channel "talk" within 12.5 s: `+row.why+". The request has expired.", f.Message, row.name)
		}
	}, restless)
}

// Holders of the role that may not take part in the channel could not have answered.
func TestATimeoutDoesNotCountStrangersAmongTheHoldersOfARole(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.register(t, "rita", "reviewer")
		f := h.unanswered(t, h.explicit(t, "alice", "bob"), "role:reviewer", func(*wireMessage) {})
		require.Equal(t, "NOBODY_HOLDS_ROLE", f.Metadata["cause"])
	}, restless)
}

// An agent that lost its access while the question waited is not taken for one that nobody knows.
func TestATimeoutSaysThatTheAddresseeLostItsAccess(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.register(t, "bob", "")
		id := h.explicit(t, "alice", "bob")
		f := h.unanswered(t, id, "bob", func(*wireMessage) { h.removeMember(t, id, "bob") })
		require.Equal(t, "NO_ACCESS", f.Metadata["cause"])
		require.Contains(t, f.Message, "it may not take part in the channel any more")
	}, restless)
}

func TestATimeoutNamesRoundSeconds(t *testing.T) {
	for exact, short := range map[time.Duration]string{
		29_999_300 * time.Microsecond: "30", 999_914 * time.Microsecond: "1", 12_500 * time.Millisecond: "12.5",
		100 * time.Millisecond: "0.1", 10 * time.Minute: "600",
	} {
		require.Equal(t, short, inShort(exact))
	}
}
