package c2a

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

// owned is a contract in which the agent has subscriptions, on pages of one.
type owned struct {
	contract
	there   []*openintentv1.Subscription
	deleted []string
}

func (o *owned) CreateSubscription(
	context.Context, *openintentv1.CreateSubscriptionRequest, ...grpc.CallOption,
) (*openintentv1.Subscription, error) {
	return nil, fault.New(fault.Conflict, "SUBSCRIPTION_NAME_TAKEN", "There is one.")
}

func (o *owned) ListSubscriptions(
	_ context.Context, r *openintentv1.ListSubscriptionsRequest, _ ...grpc.CallOption,
) (*openintentv1.ListSubscriptionsResponse, error) {
	for i, one := range o.there {
		if r.GetCursor() == "" || r.GetCursor() == one.GetId() {
			page := &openintentv1.ListSubscriptionsResponse{Subscriptions: []*openintentv1.Subscription{one}}
			if i+1 < len(o.there) {
				page.NextCursor = new(o.there[i+1].GetId())
			}
			return page, nil
		}
	}
	return &openintentv1.ListSubscriptionsResponse{}, nil
}

func (o *owned) GetSubscription(
	_ context.Context, r *openintentv1.GetSubscriptionRequest, _ ...grpc.CallOption,
) (*openintentv1.Subscription, error) {
	return &openintentv1.Subscription{Id: r.GetSubscriptionId()}, nil
}

func (o *owned) DeleteSubscription(
	_ context.Context, r *openintentv1.DeleteSubscriptionRequest, _ ...grpc.CallOption,
) (*openintentv1.DeleteSubscriptionResponse, error) {
	o.deleted = append(o.deleted, r.GetSubscriptionId())
	return &openintentv1.DeleteSubscriptionResponse{}, nil
}

func subscriptionOf(id, name string) *openintentv1.Subscription {
	return &openintentv1.Subscription{Id: id, Name: name, Include: []string{"attention", "annotations"}}
}

// The door goes on with the subscription of its windows and its place, and drains those of other windows, wherever they stand in the list.
// Those of other places and of the agent itself it leaves alone.
func TestWhichSubscriptionsAreTheDoors(t *testing.T) {
	place := placeOf(&doors.Caller{OnlyIntents: []string{"int_1"}})
	o := &owned{there: []*openintentv1.Subscription{
		subscriptionOf("a", "default"), subscriptionOf("b", "c2a"+place), subscriptionOf("c", "c2a+digest60"), subscriptionOf("d", "c2a"+place+"+compose"),
		subscriptionOf("e", "c2ab"), subscriptionOf("f", "c2a"), subscriptionOf("g", "c2a+compose"),
	}}
	c, _, _ := harnessOf()
	c.caller.Subscriptions = o
	own, former, err := c.subscribe(t.Context(), window{})
	require.NoError(t, err)
	require.Equal(t, "f", own.GetId())
	ids := func() (ids []string) {
		for _, one := range former {
			ids = append(ids, one.GetId())
		}
		return ids
	}
	require.Equal(t, []string{"c", "g"}, ids())

	c.caller.OnlyIntents = []string{"int_1"}
	own, former, err = c.subscribe(t.Context(), window{Compose: true})
	require.NoError(t, err)
	require.Equal(t, "d", own.GetId())
	require.Equal(t, []string{"b"}, ids())

	// One of the same name that this door has not made has no attention, so there is nothing to deliver.
	o.there[3].Include = nil
	_, _, err = c.subscribe(t.Context(), window{Compose: true})
	require.Equal(t, "SUBSCRIPTION_NAME_TAKEN", doors.RefusalOf(err).Reason)
}

// Each set of places and each window has a subscription of its own, however the places are written down.
func TestNamesOfSubscriptions(t *testing.T) {
	names := make(map[string]bool)
	for _, c := range []*doors.Caller{
		{}, {OnlyIntents: []string{"a"}}, {OnlyIntents: []string{"b"}}, {OnlyIntents: []string{"a", "b"}}, {OnlyIntents: []string{"ab"}},
		{OnlyChannels: []string{"a"}}, {OnlyChannels: []string{"b"}}, {OnlyIntents: []string{"a"}, OnlyChannels: []string{"b"}},
	} {
		for _, w := range []window{
			{}, {Compose: true}, {DigestSeconds: 1}, {DigestSeconds: 60}, {DigestSeconds: 1, DigestMaxChars: 500}, {DigestSeconds: 1, DigestMaxChars: 501},
			{Compose: true, DigestSeconds: 60},
		} {
			name := w.name(placeOf(c))
			require.False(t, names[name], "%s: %+v %+v", name, c, w)
			names[name] = true
		}
	}
	require.Equal(t, placeOf(&doors.Caller{OnlyIntents: []string{"a", "b"}}), placeOf(&doors.Caller{OnlyIntents: []string{"b", "a", "b"}}))
}

func TestBoundsOfWindows(t *testing.T) {
	for w, allowed := range map[window]bool{
		{}: true, {DigestSeconds: 1}: true, {DigestSeconds: longestDigest}: true, {DigestSeconds: longestDigest + 1}: false, {DigestSeconds: -1}: false,
		{DigestMaxChars: fewestChars}: false, {DigestSeconds: 1, DigestMaxChars: fewestChars}: true, {DigestSeconds: 1, DigestMaxChars: fewestChars - 1}: false,
		{DigestSeconds: 1, DigestMaxChars: mostChars}: true, {DigestSeconds: 1, DigestMaxChars: mostChars + 1}: false,
	} {
		require.Equal(t, allowed, w.check() == nil, "%+v", w)
	}
}

// draining returns a connection whose agent has a former subscription, with deliveries that a test plays.
func draining(acknowledge time.Duration) (*connection, *owned, *line) {
	c, _, l := harnessOf()
	o := &owned{contract: contract{deliveries: make(chan *openintentv1.SubscriptionDelivery, 2), refusal: make(chan error, 1)}}
	c.caller.Subscriptions, c.door.times.acknowledge = o, acknowledge
	c.subscription = &openintentv1.Subscription{Id: "present", CreatedAt: timestamppb.New(time.Unix(1000, 0))}
	return c, o, l
}

// What was sent after the present subscription was made comes with that one, and not with the former one, too.
func TestAFormerSubscriptionBringsOnlyWhatIsOlder(t *testing.T) {
	c, o, l := draining(time.Hour)
	for _, message := range []struct{ number, at int64 }{{1, 1001}, {2, 999}} {
		one := toBob(message.number)
		one.SubscriptionId, one.Message.Id = "former", fmt.Sprint("msg_", message.number)
		one.Message.CreatedAt = timestamppb.New(time.Unix(message.at, 0))
		o.deliveries <- one
	}
	var handed []byte
	c.working.Go(func() {
		handed = <-l.out
		o.refusal <- status.Error(codes.Unavailable, "that is enough")
	})
	require.Equal(t, codes.Unavailable, status.Code(c.drain(t.Context(), subscriptionOf("former", "c2a+digest60"))))
	c.working.Wait()
	require.Contains(t, string(handed), `"id":"deliver-msg_2"`)
	require.Equal(t, []numbered{{"former", 1}}, c.pending.done)
}

// A former subscription that lets messages wait for a pause is not empty before the longest such pause is over.
func TestAFormerSubscriptionThatComposesIsNotEmptyAtOnce(t *testing.T) {
	c, o, _ := draining(drainLook)
	composing := subscriptionOf("former", "c2a+compose")
	composing.Compose = new(true)
	require.NoError(t, c.drain(t.Context(), composing))
	c.working.Wait()
	require.Empty(t, o.deleted)
}

// A former subscription whose deliveries the harness does not acknowledge in time stays for the next connection.
func TestAFormerSubscriptionWithDeliveriesStays(t *testing.T) {
	c, o, _ := draining(time.Millisecond)
	one := toBob(1)
	one.SubscriptionId = "former"
	o.deliveries <- one
	require.NoError(t, c.drain(t.Context(), subscriptionOf("former", "c2a+digest60")))
	c.working.Wait()
	require.Empty(t, o.deleted)
}
