package delivering

import (
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/messaging/attention"
	"openintent/messaging/message"
	"openintent/messaging/reading"
	"openintent/subscriptions/record"
	"openintent/subscriptions/waiting"
)

// A message that an edit would take out of a digest comes with the digest alone if that was delivered meanwhile.
func TestADeliveredDigestRecallsNothing(t *testing.T) {
	for _, engine := range databasetest.Engines() {
		db := databasetest.Open(t, database.Config{URL: databasetest.URL(t, engine)})
		m := &message.Message{IntentNo: 1, ChannelNo: 1, Position: 3, Sender: "ann"}
		recalled := reading.Entry{IntentNo: 1, ChannelNo: 1, Position: 3, Message: m, Attention: new(attention.Judgement)}
		for waits, numbered := range map[bool]int{true: 1, false: 0} {
			c := &record.Change{Now: db.Now(), Locked: &record.Subscription{DigestSeconds: 60, MaxChars: waiting.MaxChars}}
			if waits {
				c.Waits = []waiting.Message{{IntentNo: 1, ChannelNo: 1, Position: 3, Digest: true, SentAt: c.Now}}
			}
			require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
				c.Tx = tx
				letWait(c, 5, []reading.Entry{recalled})
				return nil
			}))
			require.EqualValues(t, numbered, c.Locked.LastNumber)
		}
	}
}
