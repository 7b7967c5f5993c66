package siege

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// channelMiB bounds how much the server's memory may grow while one key reads the page of an agent channel.
const channelMiB = 300

// TestThePageOfAChannelTakesLittle fills an agent channel with what takes most memory to read, and lets a guest that may only read ask for
// the page in all forms, many at once. An ordinary run asks with a few.
func TestThePageOfAChannelTakesLittle(t *testing.T) {
	harness.EachProcess(t, func(t *testing.T, h *harness.Server) {
		ann := h.As("ann")
		post := func(path, body string) (answer map[string]any) {
			got := ann.REST(t, "POST", path, body)
			require.Equal(t, http.StatusCreated, got.Status, "%.300s", got.Body)
			got.Decode(t, &answer)
			return answer
		}
		page := "/agent-channel/" + post("/agent-channel", `{"title": "large"}`)["id"].(string)
		dense := `{"a":` + strings.Repeat("[", 58) + strings.Repeat("1,", 128_000) + "1" + strings.Repeat("]", 58) + `}`
		for range size(3, 20) {
			post(page+"/event", `{"kind": "comms", "payload": `+dense+`}`)
		}
		post(page+"/event", `{"kind": "spec", "payload": `+dense+`}`)
		post(page+"/event", `{"kind": "state", "payload": `+dense+`}`)
		invite := post(page+"/invite", `{"read_only": true}`)
		guest := h.With(invite["key"].(string), invite["agent"].(string))

		before := residentMiB(t, ann)
		var all sync.WaitGroup
		var longest, slowest sync.Map
		for _, form := range []string{"json", "yaml", "md"} {
			for i := range size(1, 8) {
				all.Go(func() {
					for status := http.StatusTooManyRequests; status == http.StatusTooManyRequests && t.Context().Err() == nil; {
						began := time.Now()
						var read int64
						if status, read = readPage(t, h, guest, page+"?format="+form); status == http.StatusOK {
							longest.Store(form, read)
							slowest.Store(fmt.Sprint(form, i), time.Since(began))
						}
					}
				})
			}
		}
		all.Wait()
		peak := residentMiB(t, ann) // what a process has taken it gives back slowly
		var took time.Duration
		slowest.Range(func(_, one any) bool {
			took = max(took, one.(time.Duration))
			return true
		})
		for _, form := range []string{"json", "yaml", "md"} {
			read, answered := longest.Load(form)
			require.True(t, answered, form)
			require.Less(t, read.(int64), int64(pageBytes), form)
			figure(t, "a page with dense payloads as %s has %d KiB", form, read.(int64)>>10)
		}
		figure(t, "pages of an agent channel, %d at once: slowest %v, RSS %d MiB before, %d MiB after", 3*size(1, 8), took.Round(time.Millisecond), before, peak)
		require.Less(t, peak-before, channelMiB)
	})
}

// readPage returns the status of a page, which is 200 or, while the key has too many answers under way, 429, and how long the page is.
func readPage(t *testing.T, h *harness.Server, by *harness.Caller, path string) (status int, length int64) {
	request, err := by.Request(t.Context(), "GET", path, "")
	if err != nil {
		t.Error(err)
		return 0, 0
	}
	response, err := h.HTTP.Do(request)
	if err != nil {
		t.Error(err)
		return 0, 0
	}
	defer func() { _ = response.Body.Close() }()
	length, err = io.Copy(io.Discard, response.Body)
	if err != nil || response.StatusCode != http.StatusOK && response.StatusCode != http.StatusTooManyRequests {
		t.Error(response.StatusCode, err)
	}
	return response.StatusCode, length
}
