//go:build console

package browser

import (
	"net/http"
	"testing"

	"openintent/e2e/harness"
)

// The server is killed and started again on the same database while somebody follows a channel and writes there.
func TestTheServerDiesUnderThePage(t *testing.T) {
	browser := chromium(t)
	harness.EachProcess(t, func(t *testing.T, h *harness.Server) {
		// The line keeps its address, which is what a browser knows a server by.
		line := h.Line(t)
		run(t, line, "crash.mjs", "OPENINTENT_TEST_CHROMIUM="+browser, "PERSONS_KEY="+personsKey(t, h), steering{
			"kill":  func(*http.Request) (any, error) { h.Kill(); return true, nil },
			"start": func(*http.Request) (any, error) { h.Start(t); return true, nil },
		}.serve(t))
	})
}
