package python

import (
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/database/databasetest"
	"openintent/e2e/harness"
	"openintent/server"
)

func TestReceiversOfWebhooksVerifyThem(t *testing.T) {
	checks := checksOf(t, "webhooks.py")
	databasetest.EachURL(t, func(t *testing.T, url string) {
		h := harness.Start(t, harness.Options{URL: url, Configure: func(cfg *server.Config) {
			cfg.WebhookAllowedNetworks = "127.0.0.0/8"
		}})
		require.Equal(t, checks, run(t, "webhooks.py", h.BaseURL(), harness.Key))
	})
}
