//go:build failover

package torture

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

const (
	// keptEach and lostEach are how many messages each channel keeps, and loses. Followed channels have a stream at each replica;
	// nobody follows the others, or sends there after the failover.
	keptEach, lostEach = 5, 20
	followedChannels   = 3
	quietChannels      = 2
)

// watched is a channel with what was sent there and the streams that follow it.
type watched struct {
	*world
	number          int
	intent, channel string
	kept, lost      []*openintentv1.Message
	streams         []openintentv1.MessageService_SubscribeClient
}

// TestWhatAFailoverLosesIsNamed kills a primary whose standby lacks the last commits, which only happens if commits do not wait for
// the standby. What is lost must be named in the log, counted, and told to those who received it; nobody may be served any of it.
func TestWhatAFailoverLosesIsNamed(t *testing.T) {
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	c := openCluster(t)
	c.synchronous(false)
	replicas := startReplicas(t, c)
	w := &world{recorder: newRecorder(), t: t, seed: *seed, replicas: replicas, stopping: make(chan struct{})}
	var channels []*watched
	for number := range followedChannels + quietChannels {
		channel := w.quietChannel(fmt.Sprint("watched ", number))
		found, err := replicas[0].Operator().Channels.GetChannel(t.Context(), &openintentv1.GetChannelRequest{ChannelId: channel})
		require.NoError(t, err)
		channels = append(channels, &watched{world: w, number: number, intent: found.GetIntentId(), channel: channel})
	}
	for _, at := range channels {
		at.kept = at.sendAll("kept", keptEach)
		at.followAll()
	}
	primary, other := c.primary()
	c.awaitMessages(other, len(channels)*keptEach)
	calling, end := context.WithCancel(t.Context())
	timed := w.startTimed(calling, calling)
	defer func() {
		end()
		w.senders.Wait()
		w.receivers.Wait()
	}()

	// The standby may not come back, so it lacks what follows.
	c.execute(primary, "ALTER ROLE replicator NOLOGIN", "SELECT pg_terminate_backend(pid) FROM pg_stat_replication")
	for _, at := range channels {
		at.lost = at.sendAll("lost", lostEach)
	}
	for _, at := range channels {
		at.receiveLost()
	}
	primary.hold(t)
	signal(syscall.SIGKILL, append([]int{primary.patroniPID(t)}, primary.processes(t)...)...)
	accepted := c.accepted(other)
	firsts, late := timed.after(t, accepted)
	accepted.stop()
	require.Empty(t, late)
	c.execute(other, "ALTER ROLE replicator LOGIN")
	primary.release(t)

	for _, at := range channels[:followedChannels] {
		at.requireToldAndGone()
	}
	for _, replica := range replicas { // it compares its logs with the first message that it stores
		_, _, err := insist(t.Context(), w.clientOf(replica), attemptTime, func(ctx context.Context, as *harness.Caller) (*openintentv1.Message, error) {
			return as.Messages.SendMessage(ctx, &openintentv1.SendMessageRequest{ChannelId: channels[0].channel, Payload: payloadOf("after")})
		})
		require.NoError(t, err)
	}
	for _, at := range channels {
		at.requireNotServed()
		at.requireNamed()
	}
	lost := len(channels) * lostEach
	counted := 0
	for _, replica := range replicas {
		counted = max(counted, lostEntries(t, replica))
	}
	require.GreaterOrEqual(t, counted, followedChannels*lostEach)
	t.Logf("the failover lost %d messages of %d intents; each is named in the log, a server counted %d lost entries in all, and none is served%s",
		lost, len(channels), counted, firsts)
	c.awaitWhole(false)
	c.synchronous(true)
}

// synchronous makes commits wait for a standby, or not.
func (c *cluster) synchronous(on bool) {
	primary, _ := c.primary()
	_, err := primary.ask(c.t.Context(), http.MethodPatch, "/config", map[string]any{
		"synchronous_mode": on, "synchronous_mode_strict": on, "maximum_lag_on_failover": 1 << 30,
	}, nil)
	require.NoError(c.t, err)
	c.awaitWhole(on)
}

// awaitMessages waits until a node has a number of messages.
func (c *cluster) awaitMessages(n *node, number int) {
	c.await("the standby to have all messages", func(ctx context.Context) bool {
		pool := c.at(n, "openintent")
		defer func() { _ = pool.Close() }()
		var count int
		err := pool.QueryRowContext(ctx, "SELECT count(*) FROM messages").Scan(&count)
		return err == nil && count >= number
	})
}

// clientOf makes a client that calls only one replica.
func (w *world) clientOf(replica *harness.Server) *client {
	alone := &world{recorder: w.recorder, t: w.t, seed: w.seed, lines: [][]*harness.Line{{replica.Line(w.t)}}}
	return alone.client("sender", "calling one replica")
}

// server is the replica that the channel's messages are sent to.
func (at *watched) server() *harness.Server { return at.replicas[at.number%len(at.replicas)] }

func (at *watched) sendAll(text string, count int) (sent []*openintentv1.Message) {
	for number := range count {
		m, err := at.server().As("sender").Messages.SendMessage(at.t.Context(), &openintentv1.SendMessageRequest{
			ChannelId: at.channel, Payload: payloadOf(fmt.Sprint(text, " ", number)),
		})
		require.NoError(at.t, err)
		sent = append(sent, m)
	}
	return sent
}

// followAll begins a stream at each replica.
func (at *watched) followAll() {
	if at.number >= followedChannels {
		return
	}
	for _, replica := range at.replicas {
		stream, err := replica.As("reader").Messages.Subscribe(at.t.Context(), &openintentv1.SubscribeRequest{
			Scope: &openintentv1.SubscribeRequest_IntentId{IntentId: at.intent},
		})
		require.NoError(at.t, err)
		_, err = stream.Header()
		require.NoError(at.t, err)
		at.streams = append(at.streams, stream)
	}
}

// receiveLost returns when every stream has handed on all messages that will be lost.
func (at *watched) receiveLost() {
	for _, stream := range at.streams {
		for received := 0; received < len(at.lost); {
			d, err := stream.Recv()
			require.NoError(at.t, err)
			if d.GetMessage() != nil {
				require.Equal(at.t, at.lost[received].GetId(), d.GetMessage().GetId())
				received++
			}
		}
	}
}

// requireToldAndGone checks that every stream that has handed on what is lost ends, says why, and hands on nothing before.
func (at *watched) requireToldAndGone() {
	for _, stream := range at.streams {
		d, err := stream.Recv()
		for err == nil && d.GetMessage() == nil {
			d, err = stream.Recv()
		}
		require.Equal(at.t, "CURSOR_BEYOND_LOG", harness.Reason(err), "%v %v", d, err)
		require.NotEmpty(at.t, harness.Metadata(err)["last_position"])
	}
}

// requireNotServed checks that no replica lists or returns what is lost, and that all of the rest is there.
func (at *watched) requireNotServed() {
	for _, replica := range at.replicas {
		c := at.clientOf(replica)
		page, _, err := insist(at.t.Context(), c, attemptTime, func(ctx context.Context, as *harness.Caller) (*openintentv1.ListMessagesResponse, error) {
			return as.Messages.ListMessages(ctx, &openintentv1.ListMessagesRequest{ChannelId: at.channel, Limit: proto.Int32(1000)})
		})
		require.NoError(at.t, err)
		listed := make(map[string]bool)
		for _, m := range page.GetMessages() {
			listed[m.GetId()] = true
		}
		for _, m := range at.kept {
			require.True(at.t, listed[m.GetId()], "%s was kept", m.GetId())
		}
		for _, m := range at.lost {
			require.False(at.t, listed[m.GetId()], "%s was lost", m.GetId())
			_, err := replica.As("sender").Messages.GetMessage(at.t.Context(), &openintentv1.GetMessageRequest{
				ChannelId: at.channel, MessageId: m.GetId(),
			})
			require.Equal(at.t, codes.NotFound, harness.Code(err))
		}
	}
}

// requireNamed checks that the replica that stored the messages says in its log which part of which intent's log is lost.
func (at *watched) requireNamed() {
	var line struct {
		Level     string
		Intent    string
		FirstLost int64 `json:"first_lost"`
		LastLost  int64 `json:"last_lost"`
	}
	require.Eventually(at.t, func() bool {
		return slices.ContainsFunc(strings.Split(at.server().Log(), "\n"), func(text string) bool {
			return json.Unmarshal([]byte(text), &line) == nil && line.Intent == at.intent && line.LastLost-line.FirstLost+1 == lostEach
		})
	}, harness.Patience, 50*time.Millisecond, "the loss in channel %d is named", at.number)
	require.Equal(at.t, "ERROR", line.Level)
}

// lostEntries reads the metric of a replica.
func lostEntries(t *testing.T, replica *harness.Server) (count int) {
	response, err := replica.HTTP.Get(replica.BaseURL() + "/metrics")
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	_, after, found := strings.Cut(string(text), "\nopenintent_lost_entries_total ")
	require.True(t, found)
	_, err = fmt.Sscan(after, &count)
	require.NoError(t, err)
	return count
}
