package delivering

import (
	"testing"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging/attention"
	"openintent/messaging/message"
	"openintent/messaging/reading"
	"openintent/subscriptions/record"
)

// Only the messages that a digest has in full count as handed over to their senders. Those that it sums up do not.
func TestADigestHandsOverOnlyWhatComesInFull(t *testing.T) {
	summed := reading.Entry{Position: 1, Message: new(message.Message), Attention: &attention.Judgement{Verdict: attention.Verdict{
		Directedness: openintentv1.Directedness_DIRECTEDNESS_AMBIENT,
	}}}
	full := reading.Entry{Position: 2, Message: new(message.Message), Attention: new(attention.Judgement)}
	for digest, handed := range map[bool][]int64{true: {2}, false: {1, 2}} {
		p := parcel{Delivery: record.Delivery{Sources: &record.Sources{Digest: digest}}, parts: []reading.Entry{summed, full}}
		var positions []int64
		for _, entry := range p.appendTraced(nil) {
			positions = append(positions, entry.Position)
		}
		require.Equal(t, handed, positions)
	}
}
