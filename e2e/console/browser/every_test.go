//go:build console

package browser

import (
	"testing"

	"openintent/e2e/harness"
	"openintent/server"
)

func TestEveryPage(t *testing.T) {
	browser := chromium(t)
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		run(t, h, "every.mjs", "OPENINTENT_TEST_CHROMIUM="+browser, "PERSONS_KEY="+personsKey(t, h))
	})
}

// The server posts to the script, which listens on this machine, and has the development key for the person at this machine.
func TestEverythingAPersonDoes(t *testing.T) {
	browser := chromium(t)
	configure := func(cfg *server.Config) {
		cfg.WebhookAllowedNetworks = "127.0.0.0/8"
		cfg.APIKeys += "," + server.DevelopmentKey
	}
	harness.EachWith(t, configure, func(t *testing.T, h *harness.Server) {
		run(t, h, "person.mjs", "OPENINTENT_TEST_CHROMIUM="+browser, "PERSONS_KEY="+personsKey(t, h))
	})
}
