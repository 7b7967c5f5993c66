package reading

import (
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/messaging/message"
)

// Where nobody wants to know, handing a message over allocates nothing for it.
func TestHandingThatNobodyWantsToKnowCostsNothing(t *testing.T) {
	var nobody DeliveryTrace
	entry, ctx := Entry{Message: &message.Message{}}, t.Context()
	require.Zero(t, testing.AllocsPerRun(100, func() { nobody.Begin(ctx, Consumer{Agent: "bob"}, entry)(nil) }))
	require.Zero(t, testing.AllocsPerRun(100, func() { nobody.BeginAll(ctx, Consumer{Agent: "bob"}, nil)(nil) }))
}
