package siege

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/internal/database/databasetest"
)

// TestWhatOneKeyStoresIsBounded lets one key store whatever is no message, as fast as it can: state, events and tasks of 100 KB. Its rates
// of messages do not bound that; those of rows and bytes do. Meanwhile another key is refused nothing.
func TestWhatOneKeyStoresIsBounded(t *testing.T) {
	const rate, piece, workers = 1_000_000, 100_000, 16
	databasetest.EachURL(t, func(t *testing.T, url string) {
		h := harness.StartProcess(t, harness.Options{URL: url, APIKeys: "good;roles=*," +
			"messages;roles=*;messages_per_second=10;bytes_per_second=10000," +
			fmt.Sprintf("all;roles=*;messages_per_second=10;bytes_per_second=10000;rows_per_second=200;stored_bytes_per_second=%d", rate)})
		if *full {
			f := storing(t, h, "messages", piece, workers, 5*time.Second)
			figure(t, "a key with rates of messages alone stores %.1f MB in %v", float64(f.bytes)/1e6, f.took)
		}
		f := storing(t, h, "all", piece, workers, size(time.Second, 10*time.Second))
		figure(t, "a key that may store 1 MB in a second stores %.1f MB in %v; %d calls are refused", float64(f.bytes)/1e6, f.took, f.refused)
		// What is under way when the rate is used up is stored, too. SQLite has one transaction at a time, PostgreSQL has eight.
		require.LessOrEqual(t, float64(f.bytes), rate*(f.took.Seconds()+1)+workers*piece)
		require.Positive(t, f.refused)
		require.Positive(t, f.bytes)
	})
}

// stored is what a flood of a key came to.
type stored struct {
	bytes, refused int64
	took           time.Duration
}

// storing stores pieces under a key for some time, and a little under another one.
func storing(t *testing.T, h *harness.Server, key string, piece, workers int, lasts time.Duration) stored {
	flooding, good := h.With(key, "flood"), h.With("good", "good")
	made := func(path, body string) string {
		answer := good.REST(t, "POST", path, body)
		require.Equal(t, 201, answer.Status, "%s", answer.Body)
		var thing struct{ ID string }
		answer.Decode(t, &thing)
		return thing.ID
	}
	text := strings.Repeat("x", piece)
	var bytes, refused atomic.Int64
	var working sync.WaitGroup
	began := time.Now()
	for n := range workers {
		intent := "/v1/intents/" + made("/v1/intents", `{"title":"Flooded","status":"active"}`)
		calls := []struct{ path, body string }{
			{intent + "/events", `{"event_type":"comment","payload":{"text":"` + text + `"}}`},
			{intent + "/tasks", `{"name":"a task","input":{"text":"` + text + `"}}`},
			{intent + "/state", `{"patches":[{"op":"set","path":"/text","value":"` + text + `"}],"expected_version":%d}`},
		}
		working.Go(func() {
			version := 1
			for i := n; time.Since(began) < lasts; i++ {
				call := calls[i%len(calls)]
				body := call.body
				if strings.HasSuffix(call.path, "/state") {
					body = fmt.Sprintf(body, version)
				}
				answer := flooding.REST(t, "POST", call.path, body)
				switch answer.Status {
				case 200, 201:
					bytes.Add(int64(piece))
					if strings.HasSuffix(call.path, "/state") {
						version++
					}
				case 429:
					refused.Add(1)
				default:
					t.Errorf("%s: %d %s", call.path, answer.Status, answer.Body)
					return
				}
			}
		})
	}
	working.Wait()
	took := time.Since(began)
	made("/v1/intents", `{"title":"Another key is not held up"}`)
	return stored{bytes.Load(), refused.Load(), took.Round(time.Second / 10)}
}
