package replay

import (
	"testing"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging/message"
)

func TestWhatTheAgentDidLastCounts(t *testing.T) {
	d := make(disposals)
	reacts := func(signal, change string) {
		d.annotated(&openintentv1.Annotation{Type: "message_reaction", MessageId: "m", Signal: &signal, Change: &change})
	}
	says := func(word string) {
		d.annotated(&openintentv1.Annotation{Type: "message_disposition", MessageId: "m", Disposition: &word})
	}
	require.Empty(t, d.of("m"))
	reacts("unclear", "added")
	require.Empty(t, d.of("m"), "nothing follows from it")
	reacts("seen", "added")
	require.Equal(t, "acknowledged", d.of("m"))
	d.annotated(&openintentv1.Annotation{Type: "message_claimed", MessageId: "m"})
	require.Equal(t, "claimed", d.of("m"))
	d.annotated(&openintentv1.Annotation{Type: "claim_released", MessageId: "m"})
	require.Equal(t, "acknowledged", d.of("m"), "what came before counts again")
	says("deferred")
	reacts("done", "added")
	reacts("done", "removed")
	require.Equal(t, "deferred", d.of("m"))
	d.answered(&message.Message{})
	d.answered(&message.Message{CorrelationID: "m"})
	require.Equal(t, "responded", d.of("m"))
	says("ignored")
	require.Equal(t, "ignored", d.of("m"))
	require.Empty(t, d.of("other"))
}
