package strangers

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// A lone caller without any relation follows an open intent with annotations, in every scope and with a durable subscription. It is
// told of reactions to what everyone sees, and of none to what others say to each other, or on a channel of members.
func TestAnnotationsTellALoneCallerNothingOfWhatItMayNotSee(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		lone := w.With(harness.BoundKey, "")
		made, err := lone.Subscriptions.CreateSubscription(t.Context(), &openintentv1.CreateSubscriptionRequest{
			IntentId: proto.String(w.places["intent"]), Include: []string{"annotations"},
		})
		require.NoError(t, err)
		for _, path := range []string{
			"{room}/messages/{notify}", "{room}/messages/{request}", "{members_room}/messages/{members_message}", "{room}/messages/{broadcast}",
		} {
			answer := w.do(t, "bob", "PUT", "/v1/channels/"+path+"/reactions/done", `{"note":"`+secret+`"}`)
			require.Equal(t, 200, answer.Status, "%s", answer.Body)
		}
		scopes := map[string]*openintentv1.SubscribeRequest{
			"channel": {Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: w.places["room"]}},
			"intent":  {Scope: &openintentv1.SubscribeRequest_IntentId{IntentId: w.places["intent"]}},
			"agent":   {Scope: &openintentv1.SubscribeRequest_AgentId{AgentId: harness.BoundAgent}},
		}
		for name, request := range scopes {
			after := int64(0)
			request.AfterPosition, request.Include = &after, []string{"annotations"}
			stream, err := lone.Messages.Subscribe(t.Context(), request)
			require.NoError(t, err)
			var shown []string
			for {
				d, err := stream.Recv()
				require.NoError(t, err, name)
				if d.GetCaughtUp() {
					break
				}
				if d.GetAnnotation() != nil {
					shown = append(shown, d.GetAnnotation().GetMessageId())
				}
			}
			if name == "agent" {
				require.Empty(t, shown, "what nobody addressed to it does not reach it")
				continue
			}
			require.Equal(t, []string{w.places["broadcast"]}, shown, name)
		}
		fetched, err := lone.Subscriptions.FetchDeliveries(t.Context(), &openintentv1.FetchDeliveriesRequest{SubscriptionId: made.GetId()})
		require.NoError(t, err)
		require.Empty(t, fetched.GetDeliveries(), "a durable subscription tells only whom an annotation concerns")
	})
}
