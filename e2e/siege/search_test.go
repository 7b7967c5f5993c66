package siege

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database/databasetest"
)

// TestSearchesWithoutEnd searches with one bound key from 16 callers as fast as possible, for words that all messages have and a phrase that
// none has. Another key's sends must not be refused, and it must find what it has sent.
func TestSearchesWithoutEnd(t *testing.T) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		h := harness.StartProcess(t, harness.Options{URL: url, APIKeys: floodKeys})
		at := newPlace(t, h, "searched")
		victim, greedy := h.With("victim-key", ""), h.With("flood-key", "")
		for n := range size(100, 900) {
			_, err := victim.Messages.SendMessage(t.Context(), &openintentv1.SendMessageRequest{
				ChannelId: at.channel, Payload: text(fmt.Sprint("parrot green ", n)),
			})
			require.NoError(t, err)
		}
		sends := size(30, 500)
		calm, _ := measure(t, victim, at, sends)
		ctx, end := context.WithCancel(t.Context())
		var searching sync.WaitGroup
		defer searching.Wait()
		defer end()
		var answered, refused atomic.Int64
		for range 16 {
			searching.Go(func() {
				for ctx.Err() == nil {
					_, err := greedy.Search.SearchMessages(ctx, &openintentv1.SearchMessagesRequest{Q: `"green parrot"`})
					if err == nil {
						answered.Add(1)
					} else {
						refused.Add(1)
					}
				}
			})
		}
		under, refusals := measure(t, victim, at, sends)
		require.Zero(t, refusals)
		began := time.Now()
		sent, err := victim.Messages.SendMessage(t.Context(), &openintentv1.SendMessageRequest{ChannelId: at.channel, Payload: text("needle")})
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			page, err := victim.Search.SearchMessages(t.Context(), &openintentv1.SearchMessagesRequest{Q: "needle"})
			return err == nil && len(page.GetMessages()) == 1 && page.GetMessages()[0].GetMessage().GetId() == sent.GetId()
		}, 2*harness.Patience, 20*time.Millisecond)
		figure(t, "16 search without end: the victim's sends p50 %v calm, %v beside them; it finds a message after %v; the greedy got %d answers and %d refusals",
			quantile(calm, .5), quantile(under, .5), time.Since(began).Round(time.Millisecond), answered.Load(), refused.Load())
	})
}
