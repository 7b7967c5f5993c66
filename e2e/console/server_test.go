package console

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// The operator learns how the server does, and which servers share its database.
func TestHowTheServerDoes(t *testing.T) {
	each(t, func(cfg *serverConfig) { cfg.Version, cfg.Commit, cfg.DefaultAccess = "1.2.3", "abc", "closed" }, func(t *testing.T, h *house) {
		for _, one := range h.servers {
			stream := follow(t, one.SignIn(t, withKey(harness.BoundKey)), "/v1/subscribe/agents/bound-agent")
			defer stream.leave()
		}
		var told *openintentv1.Server
		eventually(t, "both servers are seen", func() bool {
			var err error
			told, err = h.first().Operator().Server.GetServer(t.Context(), &openintentv1.GetServerRequest{})
			require.NoError(t, err)
			return len(told.GetReplicas()) == len(h.servers)
		})
		require.Equal(t, "1.2.3", told.GetVersion())
		require.Equal(t, "abc", told.GetCommit())
		require.True(t, told.GetDatabase().GetStores())
		engine, _, _ := strings.Cut(h.first().DatabaseURL, ":")
		require.Equal(t, engine, told.GetDatabase().GetEngine())
		require.False(t, told.GetStartedAt().AsTime().Before(h.began.Truncate(1e3)))
		var names []string
		for _, one := range told.GetReplicas() {
			names = append(names, one.GetName())
		}
		require.Contains(t, names, told.GetReplica())
		figures := make(map[string]float64)
		for _, figure := range told.GetFigures() {
			figures[figure.GetName()] = figure.GetValue()
		}
		require.InDelta(t, 1, figures["openintent_streams_open"], 0)
		for _, setting := range told.GetSettings() {
			if setting.GetName() == "OPENINTENT_DEFAULT_ACCESS" {
				require.Equal(t, "closed", setting.GetValue())
				require.False(t, setting.GetIsDefault())
			}
			require.NotContains(t, setting.GetValue(), harness.Key)
		}
		answer := h.first().SignIn(t, withKey(harness.Key)).REST(t, "GET", "/v1/server", "")
		require.Contains(t, string(answer.Body), "openintent_requests_total")
		require.Equal(t, 200, answer.Status, "%s", answer.Body)
		require.Contains(t, string(answer.Body), `"version":"1.2.3"`)
		requireRefused(t, h.first().As("alice").REST(t, "GET", "/v1/server", ""), 403, "NOT_OPERATOR")
	})
}
