package quiet

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"openintent/e2e/replica"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database/databasetest"
)

// A message that need not be answered only because somebody has claimed it is in no digest: the claim may end without an answer. That
// matters where its sender declared it ambient, and the subscriber looks for it only when it is claimed.
func TestWhatIsClaimedIsNotDigested(t *testing.T) {
	databasetest.SearchWith(t, map[string]int{"rapid.checks": 1})
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			replicas := replica.Start(t, engine, replica.WithSubscriptions)
			register(t, replicas[0])
			rapid.Check(t, func(t *rapid.T) {
				w := newWorld(t, replicas, make(map[string]int))
				w.send(t, "alice", &draft{
					ChannelId: w.channels[2], To: new("role:reviewer"), Payload: content("@bob, or you, carol: what is the state?"),
					MessageType:  openintentv1.MessageType_MESSAGE_TYPE_REQUEST.Enum(),
					Directedness: openintentv1.Directedness_DIRECTEDNESS_AMBIENT.Enum(),
				})
				request, r := w.messages[0], w.any()
				claim := &openintentv1.ClaimMessageRequest{ChannelId: request.GetChannelId(), MessageId: request.GetId()}
				claimed, err := r.Claims.ClaimMessage(r.As("carol"), claim)
				require.NoError(t, err)
				require.NotEqual(t, mustRespond, w.attention(t, "bob", request).GetPolicy())
				w.receive(t)
				w.pass(t, 31*time.Second)
				_, err = r.Claims.ReleaseClaim(r.As("carol"), &openintentv1.ReleaseClaimRequest{
					ChannelId: request.GetChannelId(), MessageId: request.GetId(), Fence: claimed.GetFence(),
				})
				require.NoError(t, err)
				require.Equal(t, mustRespond, w.attention(t, "bob", request).GetPolicy())
				w.judge(t)
				w.receive(t)
				for _, s := range w.subscribers[:4] { // those of bob
					require.Equal(t, "bob", s.GetSubscriberId())
					require.True(t, s.full[request.GetId()], "compose %t, digest %d", s.GetCompose(), s.GetDigestSeconds())
				}
			})
		})
	}
}
