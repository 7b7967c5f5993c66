package following

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/jsonvalue"
	"openintent/messaging/message"
	"openintent/messaging/reading"
)

// A form is made once for all followers, and anew when the message's status has changed by time; what is meant for one
// follower alone is never shared.
func TestFollowersShareForms(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	m := &message.Message{
		ID: "msg_1", Sender: "a", Target: "b", Type: message.TypeNotify, CreatedAt: start, ExpiresAt: start.Add(time.Minute),
		Payload: jsonvalue.Object(`{"n":1}`), Metadata: jsonvalue.Object(`{}`),
	}
	d := delivery{Entry: reading.Entry{Position: 7, Message: m, Now: start, Encodings: new(reading.Encodings)}, position: 7}
	formOf := func(d delivery) *openintentv1.SubscribeResponse {
		form, err := sender{}.form(d)
		require.NoError(t, err)
		return form.(*openintentv1.SubscribeResponse)
	}
	first := formOf(d)
	require.Equal(t, openintentv1.MessageStatus_MESSAGE_STATUS_DELIVERED, first.GetMessage().GetStatus())
	require.Same(t, first, formOf(d))

	backfilled := d
	backfilled.backfill = true
	require.NotSame(t, first, formOf(backfilled))
	require.True(t, formOf(backfilled).GetBackfill())
	require.False(t, first.GetBackfill())

	later := d
	later.Now = m.ExpiresAt
	expired := formOf(later)
	require.Equal(t, openintentv1.MessageStatus_MESSAGE_STATUS_EXPIRED, expired.GetMessage().GetStatus())
	require.Equal(t, openintentv1.MessageStatus_MESSAGE_STATUS_DELIVERED, first.GetMessage().GetStatus(), "what was sent stays")
	require.Same(t, expired, formOf(later))

	own := d
	own.Encodings = nil
	alone := formOf(own)
	require.NotSame(t, alone, formOf(own), "what nobody shares is not kept")
}
