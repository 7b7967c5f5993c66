package search

import (
	"context"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database/databasetest"
)

// BenchmarkIndexing measures what one message costs the index, when nothing else happens: the time, and the processor time of this process,
// without that of PostgreSQL. Run it with -benchtime 20000x.
func BenchmarkIndexing(b *testing.B) {
	for _, engine := range databasetest.Engines() {
		b.Run(engine.String(), func(b *testing.B) {
			h := newHouse(b, engine, time.Now)
			require.NoError(b, h.Index(context.Background()))
			h.sayInMany(b, 20, b.N)
			before := processorTime(b)
			b.ResetTimer()
			for indexed := int64(0); indexed < int64(b.N); _, indexed = h.Progress() {
				require.NoError(b, h.Index(context.Background()))
			}
			b.StopTimer()
			b.ReportMetric(float64((processorTime(b)-before).Nanoseconds())/float64(b.N), "processor-ns/op")
		})
	}
}

// sayInMany sends many messages of 16 words of unequal frequency to the channels of as many intents.
func (h *house) sayInMany(b *testing.B, intents, count int) {
	b.Helper()
	var sending sync.WaitGroup
	for i := range intents {
		h.intent = h.newIntent(b)
		channel := h.newChannel(b, &openintentv1.CreateChannelRequest{
			Name: "talk", Options: &openintentv1.ChannelOptions{MaxMessages: pointer(int64(1_000_000))},
		})
		sending.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			zipf := rand.NewZipf(random, 1.1, 5, 50_000)
			for n := i; n < count; n += intents {
				var text strings.Builder
				for range 16 {
					text.WriteString("w" + strconv.FormatUint(zipf.Uint64(), 10) + " ")
				}
				_, err := h.talk.SendMessage(as("ada"), &openintentv1.SendMessageRequest{
					ChannelId: channel.GetId(), To: pointer(agentNo(n % 10)), MessageType: pointer(openintentv1.MessageType_MESSAGE_TYPE_NOTIFY),
					Kind: pointer("agent.chat"), Payload: payload(b, map[string]any{"text": text.String() + "rare" + strconv.Itoa(n)}),
				})
				assert.NoError(b, err)
			}
		})
	}
	sending.Wait()
}

func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
