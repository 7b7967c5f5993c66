//go:build console

package browser

import (
	"testing"

	"openintent/e2e/harness"
)

func TestEveryPage(t *testing.T) {
	browser := chromium(t)
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		run(t, h, "every.mjs", "OPENINTENT_TEST_CHROMIUM="+browser, "PERSONS_KEY="+personsKey(t, h))
	})
}
