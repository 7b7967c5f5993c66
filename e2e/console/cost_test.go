package console

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

// statements counts the statements that a server runs, by their texts.
type statements struct {
	mutex  sync.Mutex
	counts map[string]int
}

func (s *statements) note(_ context.Context, text string) func() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.counts[text]++
	return nil
}

// during returns the statements that run while something is done.
func (s *statements) during(do func()) map[string]int {
	s.mutex.Lock()
	s.counts = map[string]int{}
	s.mutex.Unlock()
	do()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return maps.Clone(s.counts)
}

// Without a page that is open, a send runs the same statements as at a server without a console, also if people are signed in. Only loops look
// now and then which sessions are over.
func TestASendCostsNothingForTheConsole(t *testing.T) {
	const sends = 300
	databasetest.EachURL(t, func(t *testing.T, url string) {
		ofSends := map[bool][]string{}
		for _, console := range []bool{true, false} {
			ran := statements{counts: map[string]int{}}
			h := harness.Start(t, harness.Options{URL: url, Configure: func(cfg *server.Config) {
				cfg.Console, cfg.LookAgain, cfg.Search, cfg.Hooks.Statement = console, 24*time.Hour, false, ran.note
			}})
			if console {
				h.SignIn(t, withKey(harness.Key))
			}
			alice := h.As("alice")
			var made struct{ ID string }
			call := func(path, body string) {
				answer := alice.REST(t, "POST", path, body)
				require.Equal(t, 201, answer.Status, "%s", answer.Body)
				answer.Decode(t, &made)
			}
			call("/v1/intents", `{"title":"Talk"}`)
			call("/v1/intents/"+made.ID+"/channels", `{"name":"talk"}`)
			path := "/v1/channels/" + made.ID + "/messages"
			call(path, `{"payload":{"text":"the first"}}`)
			began := time.Now()
			found := ran.during(func() {
				for n := range sends {
					call(path, fmt.Sprintf(`{"payload":{"text":"number %d"}}`, n))
				}
			})
			looks := int(5 + time.Since(began)/(100*time.Millisecond))
			for text, count := range found {
				if strings.Contains(text, "console_sessions") {
					require.LessOrEqual(t, count, looks, text)
				} else if count >= sends { // what belongs to sends, and not to what the server does now and then
					ofSends[console] = append(ofSends[console], text)
				}
			}
			slices.Sort(ofSends[console])
			require.NoError(t, h.Stop())
		}
		require.NotEmpty(t, ofSends[false])
		require.Equal(t, ofSends[false], ofSends[true])
	})
}
