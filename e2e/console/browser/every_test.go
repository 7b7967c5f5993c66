//go:build console

package browser

import (
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"openintent/e2e/harness"
	"openintent/server"
)

// The pages show a story of some days, during which the server's clock is behind.
func TestEveryPage(t *testing.T) {
	browser := chromium(t)
	var clock behind
	configure := func(cfg *server.Config) {
		clock.by.Store(int64(72 * time.Hour))
		cfg.Clock, cfg.Version = clock.now, "0.3.0"
	}
	harness.EachWith(t, configure, func(t *testing.T, h *harness.Server) {
		run(t, h, "every.mjs", "OPENINTENT_TEST_CHROMIUM="+browser, "PERSONS_KEY="+personsKey(t, h), steering{"pass": clock.pass}.serve(t))
	})
}

// behind is a clock that goes, and is behind by some time.
type behind struct{ by atomic.Int64 }

func (b *behind) now() time.Time { return time.Now().Add(-time.Duration(b.by.Load())) }

// pass lets the clock catch up by as many seconds as a script says, and returns by how many it is behind then.
func (b *behind) pass(r *http.Request) (any, error) {
	seconds, err := strconv.ParseFloat(r.URL.Query().Get("seconds"), 64)
	if err != nil {
		return nil, err
	}
	return time.Duration(b.by.Add(-int64(seconds * float64(time.Second)))).Seconds(), nil
}

func TestEveryState(t *testing.T) { withContacts(t, "states.mjs") }

func TestEverythingAPersonDoes(t *testing.T) { withContacts(t, "person.mjs") }

// withContacts runs a script for a person with a key of their own. The server posts to the script, which listens on this machine, and has the
// development key for the person at this machine.
func withContacts(t *testing.T, script string) {
	t.Helper()
	browser := chromium(t)
	configure := func(cfg *server.Config) {
		cfg.WebhookAllowedNetworks = "127.0.0.0/8"
		cfg.APIKeys += "," + server.DevelopmentKey
	}
	harness.EachWith(t, configure, func(t *testing.T, h *harness.Server) {
		run(t, h, script, "OPENINTENT_TEST_CHROMIUM="+browser, "PERSONS_KEY="+personsKey(t, h))
	})
}
