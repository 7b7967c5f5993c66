package subscriptions

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
)

// aDay is how far these tests set the clock back: much further than anything can wait.
const aDay = 24 * time.Hour

func TestAWaitHasCome(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	for after, come := range map[time.Duration]bool{
		-aDay: true, 0: true, time.Microsecond: false, longestWait: false, longestWait + time.Microsecond: true, aDay: true,
	} {
		require.Equal(t, come, hasCome(now.Add(after), now), after)
	}
	field := new(createInput).ProtoReflect().Descriptor().Fields().ByName("acknowledge_seconds")
	rules := proto.GetExtension(field.Options(), validate.E_Field).(*validate.FieldRules)
	require.LessOrEqual(t, time.Duration(rules.GetInt32().GetLte())*time.Second, longestWait, "a consumer may take so long to acknowledge")
}

func TestAClockSetBackPutsOffNoPost(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		var works atomic.Bool
		endpoint := newHook(t, func(arrival) int {
			if works.Load() {
				return http.StatusOK
			}
			return http.StatusBadRequest
		})
		intentID := h.intent(t)
		sub := h.subscribe(t, "b", &createInput{IntentId: &intentID, WebhookUrl: &endpoint.URL})
		h.send(t, "a", h.open(t, intentID, "news"), "b", "late")
		eventually(t, func() bool { return h.get(t, sub).GetLastError() != "" }, "the post has failed")
		works.Store(true)
		h.clock.Advance(-aDay)
		require.Equal(t, "late", endpoint.await(t, 1)[0])
	}, posting, restless)
}

func TestAClockSetBackPutsOffNoDelivery(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{
			ChannelId: &channel, AcknowledgeSeconds: ptr(int32(20)), MaxAttempts: ptr(int32(2)),
		})
		h.send(t, "ann", channel, "bob", "one")
		s := h.stream(t, sub, nil)
		require.Equal(t, int32(1), s.next(t).GetAttempt())
		eventually(t, func() bool { return h.get(t, sub).GetOutstandingCount() == 1 }, "the delivery is stored")
		h.clock.Advance(-aDay)
		require.Equal(t, int32(2), s.next(t).GetAttempt())
		h.clock.Advance(-aDay)
		eventually(t, func() bool { return h.get(t, sub).GetDeadLetterCount() == 1 }, "the delivery is given up")
	}, restless)
}
