package python

import (
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/internal/database/databasetest"
)

func TestReceiversOfWebhooksVerifyThem(t *testing.T) {
	checks := checksOf(t, "webhooks.py")
	databasetest.EachURL(t, func(t *testing.T, url string) {
		h := harness.StartProcess(t, harness.Options{URL: url, Flags: []string{"--webhook-allowed-networks=127.0.0.0/8"}})
		require.Equal(t, checks, run(t, "webhooks.py", h.BaseURL(), harness.Key))
	})
}
