package siege

import (
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database/databasetest"
)

// TestEvictedRequestsDoNotStay floods a channel that lists ten messages with requests that have no deadline, half of
// them answered. The stored rows must go down to what the channel lists plus what one step of the removal may leave.
func TestEvictedRequestsDoNotStay(t *testing.T) {
	const listed, step = 10, 128
	databasetest.EachURL(t, func(t *testing.T, url string) {
		h := harness.StartProcess(t, harness.Options{URL: url, Flags: []string{"--retention=2s"}})
		channel := newOverflow(t, h, listed)
		requests := size(600, 20_000)
		channel.run(t, requests)
		rows := openRows(t, url)
		most := rows.count(t, "messages") + rows.count(t, "open_requests")
		began := time.Now()
		bound := size(listed+step, listed)
		require.Eventually(t, func() bool {
			return rows.count(t, "messages") <= bound && rows.count(t, "open_requests") <= bound &&
				rows.count(t, "evicted_requests") == 0
		}, 5*time.Minute, 100*time.Millisecond, "evicted requests stay")
		figure(t, "%d requests and %d answers on a channel that lists %d: %d rows right after the flood; %v later %d messages, %d open requests",
			requests, requests/2, listed, most, time.Since(began).Round(time.Second/10),
			rows.count(t, "messages"), rows.count(t, "open_requests"))
	})
}

// overflow sends requests on one channel.
type overflow struct {
	asker, answerer *harness.Caller
	channel         string
}

func newOverflow(t *testing.T, h *harness.Server, listed int64) overflow {
	f := overflow{asker: h.As("asker"), answerer: h.As("answerer")}
	intent, err := f.asker.Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{
		Title: "Flooded", Status: openintentv1.IntentStatus_INTENT_STATUS_ACTIVE.Enum(),
	})
	require.NoError(t, err)
	channel, err := f.asker.Channels.CreateChannel(t.Context(), &openintentv1.CreateChannelRequest{
		IntentId: intent.GetId(), Name: "flooded", Options: &openintentv1.ChannelOptions{MaxMessages: &listed},
	})
	require.NoError(t, err)
	f.channel = channel.GetId()
	return f
}

// run sends this many requests and answers every second one.
func (f overflow) run(t *testing.T, requests int) {
	const senders = 16
	numbers := make(chan int)
	var sending sync.WaitGroup
	for range senders {
		sending.Go(func() {
			for n := range numbers {
				if err := f.ask(t, n%2 == 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for n := range requests {
		numbers <- n
	}
	close(numbers)
	sending.Wait()
}

func (f overflow) ask(t *testing.T, answered bool) error {
	asked, err := f.asker.Messages.SendMessage(t.Context(), &openintentv1.SendMessageRequest{
		ChannelId: f.channel, To: proto.String("answerer"), MessageType: openintentv1.MessageType_MESSAGE_TYPE_REQUEST.Enum(),
		Payload: &structpb.Struct{},
	})
	if err != nil || !answered {
		return err
	}
	_, err = f.answerer.Messages.ReplyMessage(t.Context(), &openintentv1.ReplyMessageRequest{
		ChannelId: f.channel, MessageId: asked.GetId(), Payload: &structpb.Struct{},
	})
	return err
}

// storedRows reads a server's database directly.
type storedRows struct{ pool *sql.DB }

func openRows(t *testing.T, url string) storedRows {
	driver, source := "pgx", url
	if path, isFile := strings.CutPrefix(url, "sqlite:"); isFile {
		driver, source = "sqlite", "file:"+path+"?mode=ro"
	}
	pool, err := sql.Open(driver, source)
	require.NoError(t, err)
	t.Cleanup(func() { _ = pool.Close() })
	return storedRows{pool}
}

func (r storedRows) count(t *testing.T, table string) (rows int) {
	t.Helper()
	require.NoError(t, r.pool.QueryRowContext(t.Context(), fmt.Sprintf("SELECT count(*) FROM %s", table)).Scan(&rows))
	return rows
}
