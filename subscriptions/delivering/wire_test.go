package delivering

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/jsonvalue"
	"openintent/messaging/message"
	"openintent/messaging/reading"
	"openintent/subscriptions/record"
)

// Over the network, what all subscribers get alike is encoded once. Each of them receives the same as without that.
func TestWhatSubscribersShareIsEncodedOnce(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	entry := reading.Entry{
		Position: 7, IntentID: "int_1", ChannelName: "talk", Now: start, Content: new(message.SharedContent),
		Message: &message.Message{
			ID: "msg_1", Sender: "a", Target: "b", Type: message.TypeNotify, CreatedAt: start, ExpiresAt: start.Add(time.Minute),
			Payload: jsonvalue.Object(`{"n":1}`), Metadata: jsonvalue.Object(`{}`),
		},
	}
	stream := func(id string, encodes bool) *Stream {
		return &Stream{receiver: &receiver{sub: &record.Subscription{ID: id}}, Streaming: Streaming{Encodes: encodes}}
	}
	sent := func(st *Stream, d record.Delivery, entry reading.Entry) *openintentv1.SubscriptionDelivery {
		made, err := st.toSend(d, &entry)
		require.NoError(t, err)
		encoded, err := proto.Marshal(made)
		require.NoError(t, err)
		received := new(openintentv1.SubscriptionDelivery)
		require.NoError(t, proto.Unmarshal(encoded, received))
		require.Empty(t, received.ProtoReflect().GetUnknown())
		return received
	}
	same := func(a, b *openintentv1.SubscriptionDelivery) {
		require.True(t, proto.Equal(a, b), "%v is not %v", a, b)
	}
	one := record.Delivery{Number: 3, Attempts: 1, Position: 7}
	same(sent(stream("sub_1", false), one, entry), sent(stream("sub_1", true), one, entry))
	entry.Message.Sender = "c" // a message never changes; here it shows that nobody encodes it anew
	other := sent(stream("sub_2", true), record.Delivery{Number: 9, Attempts: 2, Position: 7}, entry)
	require.Equal(t, "a", other.GetMessage().GetSender())
	require.Equal(t, "sub_2", other.GetSubscriptionId())
	require.Equal(t, int64(9), other.GetNumber())
	require.Equal(t, int32(2), other.GetAttempt())

	entry.Now = entry.Message.ExpiresAt
	require.Equal(t, openintentv1.MessageStatus_MESSAGE_STATUS_EXPIRED, sent(stream("sub_1", true), one, entry).GetMessage().GetStatus(),
		"the form changes with the message's status")
	entry.Content = nil
	same(sent(stream("sub_1", false), one, entry), sent(stream("sub_1", true), one, entry))
}
