package messaging

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/jsonvalue"
)

// A form is made once for all followers, and anew when the message's status has changed by time; what is meant for one
// follower alone is never shared.
func TestFollowersShareForms(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	m := &Message{
		ID: "msg_1", Sender: "a", Target: "b", Type: TypeNotify, CreatedAt: start, ExpiresAt: start.Add(time.Minute),
		Payload: jsonvalue.Object(`{"n":1}`), Metadata: jsonvalue.Object(`{}`),
	}
	d := delivery{Entry: Entry{Position: 7, Message: m, Now: start, forms: new(forms)}, position: 7}
	make := func(d delivery) *openintentv1.SubscribeResponse {
		form, err := sender{}.form(d)
		require.NoError(t, err)
		return form.(*openintentv1.SubscribeResponse)
	}
	first := make(d)
	require.Equal(t, openintentv1.MessageStatus_MESSAGE_STATUS_DELIVERED, first.GetMessage().GetStatus())
	require.Same(t, first, make(d))

	backfilled := d
	backfilled.backfill = true
	require.NotSame(t, first, make(backfilled))
	require.True(t, make(backfilled).GetBackfill())
	require.False(t, first.GetBackfill())

	later := d
	later.Now = m.ExpiresAt
	expired := make(later)
	require.Equal(t, openintentv1.MessageStatus_MESSAGE_STATUS_EXPIRED, expired.GetMessage().GetStatus())
	require.Equal(t, openintentv1.MessageStatus_MESSAGE_STATUS_DELIVERED, first.GetMessage().GetStatus(), "what was sent stays")
	require.Same(t, expired, make(later))

	own := d
	own.forms = nil
	require.NotSame(t, make(own), make(own))
}
