//go:build console

package browser

import (
	"testing"

	"openintent/e2e/harness"
)

func TestDeadLettersAreRedrivenTogether(t *testing.T) { onEach(t, "letters.mjs") }

func TestTwoPeopleClaimOneRequest(t *testing.T) { onEach(t, "claiming.mjs") }

func TestHostileWordsStayInTheirBox(t *testing.T) { onEach(t, "hostile.mjs") }

func TestSessionsInTheBrowser(t *testing.T) { onEach(t, "sessions.mjs") }

func TestReadingAndWriting(t *testing.T) { onEach(t, "reading.mjs") }

// onEach runs a script that needs nothing but a server of its own, on each engine.
func onEach(t *testing.T, script string) {
	t.Helper()
	browser := chromium(t)
	harness.Each(t, func(t *testing.T, h *harness.Server) { run(t, h, script, "OPENINTENT_TEST_CHROMIUM="+browser) })
}
