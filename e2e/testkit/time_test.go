package testkit

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
	"openintent/sdk/go/openintenttest"
)

// question is what tests ask.
var question = map[string]any{"question": "which schema?"}

// moment is by how much time may pass while it stands: each reading of the clock is a microsecond later.
const moment = 100 * time.Millisecond

// open opens a channel of the test's intent as an agent.
func open(t *testing.T, server *openintenttest.Server, agent string) *openintent.Channel {
	t.Helper()
	channel, err := server.Client(agent).Open(t.Context(), server.Intent().ID, "clarification", openintent.ChannelOptions{})
	require.NoError(t, err)
	return channel
}

// outcome is what came of an Ask.
type outcome struct {
	answer *openintent.Message
	err    error
}

// ask asks, and returns where the outcome comes.
func ask(t *testing.T, channel *openintent.Channel, asked openintent.Question) <-chan outcome {
	t.Helper()
	came := make(chan outcome, 1)
	go func() {
		answer, err := channel.AskWith(t.Context(), asked)
		came <- outcome{answer, err}
	}()
	return came
}

// A question ends when its time has passed by the test's clock, and not a second earlier.
func TestAQuestionExpires(t *testing.T) {
	server := start(t)
	silent := server.Peer("data-agent", "").StaysSilent()
	came := ask(t, open(t, server, "asker"), openintent.Question{To: "data-agent", Payload: question, Timeout: 30 * time.Second})
	silent.AssertHeard(nil)
	begun := server.Now()
	server.Advance(29 * time.Second)
	require.WithinDuration(t, begun.Add(29*time.Second), server.Now(), moment)
	server.Settle()
	require.Empty(t, came)
	server.Advance(time.Second)
	var late *openintent.MessageTimeoutError
	require.ErrorAs(t, (<-came).err, &late)
	server.AssertSaid(server.Intent().ID, openintenttest.Match{To: "data-agent", Where: func(said openintenttest.Said) bool {
		return said.Status == openintent.Expired
	}})
}

// A lease is renewed on the way, however far time moves, and ends soon after its holder has died.
func TestALeaseLivesWithItsHolder(t *testing.T) {
	server := start(t)
	holder, next := server.Client("holder"), server.Client("next")
	intent := server.Intent().ID
	lease, err := holder.Lease(t.Context(), intent, "chapter 3", openintent.LeaseOptions{Duration: 30 * time.Second})
	require.NoError(t, err)
	server.Advance(10 * time.Minute)
	require.NoError(t, lease.Context().Err())
	_, err = next.Lease(t.Context(), intent, "chapter 3", openintent.LeaseOptions{})
	require.ErrorIs(t, err, openintent.ErrAlreadyExists)
	require.NoError(t, holder.Close())
	server.Advance(30 * time.Second)
	_, err = next.Lease(t.Context(), intent, "chapter 3", openintent.LeaseOptions{})
	require.NoError(t, err)
}

// An agent that waits for a lease gets it as soon as the earlier lease has run out.
func TestAWaitForALeaseEndsWithTheLease(t *testing.T) {
	server := start(t)
	holder, next := server.Client("holder"), server.Client("next")
	intent := server.Intent().ID
	_, err := holder.Lease(t.Context(), intent, "chapter 3", openintent.LeaseOptions{Duration: 30 * time.Second})
	require.NoError(t, err)
	require.NoError(t, holder.Close())
	leased := make(chan error, 1)
	go func() {
		_, err := next.Lease(t.Context(), intent, "chapter 3", openintent.LeaseOptions{Wait: 10 * time.Minute})
		leased <- err
	}()
	server.Advance(time.Minute)
	require.NoError(t, <-leased)
}

// A wait for a lease that nobody gives back ends when its time has passed, with the lease renewed all the while.
func TestAWaitForALeaseEndsWithItsPatience(t *testing.T) {
	server := start(t)
	_, err := server.Client("holder").Lease(t.Context(), server.Intent().ID, "chapter 3", openintent.LeaseOptions{Duration: 30 * time.Second})
	require.NoError(t, err)
	leased, next := make(chan error, 1), server.Client("next")
	go func() {
		_, err := next.Lease(t.Context(), server.Intent().ID, "chapter 3", openintent.LeaseOptions{Wait: 10 * time.Minute})
		leased <- err
	}()
	for len(leased) == 0 { // the call may not have come yet
		server.Advance(10 * time.Minute)
	}
	require.ErrorIs(t, <-leased, openintent.ErrAlreadyExists)
}

// A digest comes when its time is over.
func TestADigestComes(t *testing.T) {
	server := start(t)
	digests := make(chan *openintent.Digest, 10)
	agent := server.Client("lead").Agent(openintent.AgentOptions{Digest: 10 * time.Minute, Log: slog.New(slog.DiscardHandler)})
	agent.OnDigest(func(_ context.Context, digest *openintent.Digest) error {
		digests <- digest
		return nil
	})
	server.Run(agent)
	channel, err := server.Client("builder").Open(t.Context(), server.Intent().ID, "steps", openintent.ChannelOptions{
		Members: []string{"lead", "builder"}, MemberPolicy: openintent.ExplicitMembers,
	})
	require.NoError(t, err)
	for range 3 {
		_, err := channel.Send(t.Context(), openintent.Draft{
			Payload: map[string]any{"text": "A step has ended."}, MessageType: openintent.Broadcast, Conversation: openintent.Conversation{Kind: "status"},
		})
		require.NoError(t, err)
	}
	server.Advance(9 * time.Minute)
	server.Settle()
	require.Empty(t, digests)
	server.Advance(time.Minute)
	require.Equal(t, 3, (<-digests).MessageCount)
}

// An agent is reminded three times of what it owes. Then the others are told, each once.
func TestAnObligationReturns(t *testing.T) {
	server := start(t)
	debtor := server.Peer("debtor", "").StaysSilent()
	_, err := open(t, server, "author").Send(t.Context(), openintent.Draft{
		To: "debtor", MessageType: openintent.Request, Payload: question,
		Conversation: openintent.Conversation{Obligation: &openintent.Obligation{Blocks: openintent.BlocksHalted}},
	})
	require.NoError(t, err)
	returns := func() (count int) {
		server.Settle()
		for _, heard := range debtor.Heard() {
			if heard.Sender == "system" {
				count++
			}
		}
		return count
	}
	for expected := range 4 {
		require.Equal(t, expected, returns())
		server.Advance(10 * time.Minute)
	}
	require.Equal(t, 3, returns())
	server.Advance(time.Hour)
	require.Equal(t, 3, returns(), "then it is the turn of others")
}

// Agents that live send their heartbeats on the way. One that has died is presumed dead.
func TestWhoLivesIsNotPresumedDead(t *testing.T) {
	server := start(t)
	server.Peer("living", "").StaysSilent()
	dying := server.Peer("dying", "").ClaimsAndDies(time.Minute)
	_, err := open(t, server, "asker").Notify(t.Context(), "dying", question)
	require.NoError(t, err)
	dying.AssertHeard(nil)
	server.Advance(20 * time.Minute)
	for agent, expected := range map[string]openintentv1.AgentStatus{
		"living": openintentv1.AgentStatus_AGENT_STATUS_ACTIVE, "dying": openintentv1.AgentStatus_AGENT_STATUS_DEAD,
	} {
		found, err := server.Client("").Raw().Agents.GetAgent(t.Context(), &openintentv1.GetAgentRequest{AgentId: agent})
		require.NoError(t, err)
		require.Equal(t, expected, found.GetStatus(), agent)
	}
}

// A day passes in the twinkling of an eye.
func TestADayPasses(t *testing.T) {
	server := start(t)
	begun, before := time.Now(), server.Now()
	server.Advance(24 * time.Hour)
	require.WithinDuration(t, before.Add(24*time.Hour), server.Now(), moment)
	require.Less(t, time.Since(begun), time.Minute)
}

// Advance returns after the server has done everything that fell due, so a test need not wait for it.
func TestWhatFellDueIsDone(t *testing.T) {
	server := start(t)
	server.Peer("debtor", "").StaysSilent()
	_, err := open(t, server, "author").Send(t.Context(), openintent.Draft{
		To: "debtor", MessageType: openintent.Request, Payload: question,
		Conversation: openintent.Conversation{Obligation: &openintent.Obligation{Blocks: openintent.BlocksHalted}},
	})
	require.NoError(t, err)
	for expected := range 4 {
		require.Len(t, server.Said(server.Intent().ID, openintenttest.Match{From: "system", To: "debtor"}), expected)
		server.Advance(10 * time.Minute)
	}
}

// A webhook that fails is posted to again when its time has come, before Advance returns.
func TestAPostIsMadeWhenTimeHasMoved(t *testing.T) {
	server := start(t, openintenttest.Arguments("--webhook-allowed-networks=127.0.0.0/8"))
	var posts atomic.Int64
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		posts.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(endpoint.Close)
	_, err := server.Client("hooked").Raw().Subscriptions.CreateSubscription(t.Context(), &openintentv1.CreateSubscriptionRequest{
		WebhookUrl: &endpoint.URL,
	})
	require.NoError(t, err)
	_, err = open(t, server, "author").Notify(t.Context(), "hooked", question)
	require.NoError(t, err)
	server.Advance(0)
	before := posts.Load()
	require.Positive(t, before)
	server.Advance(time.Minute)
	require.Greater(t, posts.Load(), before)
}
