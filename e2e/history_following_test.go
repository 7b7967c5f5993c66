package e2e

import (
	"io"
	"slices"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"openintent/e2e/model"
	openintentv1 "openintent/gen/openintent/v1"
)

type following = grpc.ServerStreamingClient[openintentv1.SubscribeResponse]

// subscribe opens a stream of a channel after a position, or from now on; the stream is admitted or returns its
// refusal.
func (y *history) subscribe(t *rapid.T, viewer string, c *model.Channel, after *int64) following {
	stream, err := y.as(viewer).Messages.Subscribe(y.ctx, &openintentv1.SubscribeRequest{
		Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: c.ID}, AfterPosition: after,
	})
	require.NoError(t, err)
	_, err = stream.Header()
	require.NoError(t, err)
	return stream
}

// drain reads a stream of a channel to its end, which must give its reason. It checks that positions rise, and that a stream of a
// closed channel reported once that it had caught up. If the channel was deleted, nothing was left to catch up with.
func drain(t *rapid.T, c *model.Channel, stream following) (deliveries []*openintentv1.SubscribeResponse, end model.Outcome) {
	position, marks := int64(0), 0
	for {
		delivery, err := stream.Recv()
		if err != nil {
			require.NotErrorIs(t, err, io.EOF, "a stream gives the reason for its end")
			if end = outcomeOf(err); end == "CHANNEL_CLOSED" {
				require.True(t, marks == 1 || marks == 0 && c.Deleted, "it reported %d times that it had caught up", marks)
			}
			return deliveries, end
		}
		if delivery.GetCaughtUp() {
			require.GreaterOrEqual(t, delivery.GetPosition(), position)
			marks++
			continue
		}
		require.Greater(t, delivery.GetPosition(), position)
		require.False(t, delivery.GetBackfill())
		position = delivery.GetPosition()
		deliveries = append(deliveries, delivery)
	}
}

// follow streams a closed channel from its beginning, and again from somewhere in the middle. The stream must deliver
// everything that a list shows, and then end.
func (y *history) follow(t *rapid.T, viewer string, c *model.Channel) {
	expected, outcome := y.world.ListMessages(viewer, c, model.Query{Limit: len(c.Sent)})
	deliveries, end := drain(t, c, y.subscribe(t, viewer, c, proto.Int64(0)))
	if outcome == model.OK {
		require.EqualValues(t, "CHANNEL_CLOSED", end)
		end = model.OK
	}
	require.Equal(t, outcome, end)
	y.reached.note("follow", end)
	y.sameMessages(t, expected, messagesOf(deliveries))
	if len(deliveries) < 2 {
		return
	}
	midst := below(t, "goes on after", len(deliveries))
	rest, _ := drain(t, c, y.subscribe(t, viewer, c, &deliveries[midst].Position))
	y.sameMessages(t, expected[midst+1:], messagesOf(rest))
}

func messagesOf(deliveries []*openintentv1.SubscribeResponse) []*openintentv1.Message {
	messages := make([]*openintentv1.Message, len(deliveries))
	for i, delivery := range deliveries {
		messages[i] = delivery.GetMessage()
	}
	return messages
}

// watch makes the operator follow a new channel for the rest of the history.
func (y *history) watch(t *rapid.T, c *model.Channel) {
	y.watched[c] = y.subscribe(t, model.Operator, c, proto.Int64(0))
}

// checkWatched checks, when a channel is closed, that its follower received everything that was sent, in order and
// once. The follower may have missed messages that were evicted before it read them, and the remaining messages of a
// deleted channel.
func (y *history) checkWatched(t *rapid.T, c *model.Channel) {
	deliveries, end := drain(t, c, y.watched[c])
	require.EqualValues(t, "CHANNEL_CLOSED", end)
	got := idsOf(messagesOf(deliveries), (*openintentv1.Message).GetId)
	sent := idsOf(c.Sent, modelID)
	if c.Deleted {
		sent = sent[:len(got)]
	}
	sent = slices.DeleteFunc(sent, func(id string) bool {
		return y.world.Messages[id].Evicted() && !slices.Contains(got, id)
	})
	require.Equal(t, sent, got)
}
