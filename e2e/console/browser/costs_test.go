//go:build console

package browser

import (
	"testing"

	"openintent/e2e/harness"
)

// What consoles cost the server is measured and printed; no test of it can fail, because it is the machine's. It takes several minutes.
func TestWhatConsolesCost(t *testing.T) {
	browser := chromium(t)
	harness.EachProcess(t, func(t *testing.T, h *harness.Server) {
		f := newFlood(t, h)
		_, err := f.send(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		run(t, h, "costs.mjs", "OPENINTENT_TEST_CHROMIUM="+browser, "CHANNEL="+f.channel, steering{"send": f.steered}.serve(t))
	})
}
