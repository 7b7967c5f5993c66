package server

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// harmless are the settings that the operator is shown. Whoever adds a setting decides here, or in secretSettings, whether it may hold a
// secret.
var harmless = strings.Fields(`
ADMIN_ADDR ALLOWED_HOSTS API_KEYS_FILE CONSOLE CORS_ORIGINS DATABASE_HEAVY_CONNECTIONS DATABASE_READ_CONNECTIONS
DATABASE_WRITE_CONNECTIONS DEFAULT_ACCESS DOORS EVENT_RETENTION GRPC_ADDR HTTP_ADDR LOG_FORMAT LOG_LEVEL MAIL_FROM
MAX_CHANNELS_PER_KEY MAX_DOCUMENTS_PER_KEY MAX_INTENTS_PER_KEY MAX_MEMBERS MAX_NAME_LENGTH MAX_PAYLOAD_BYTES MAX_SESSIONS_PER_KEY
MAX_STREAMS MAX_STREAMS_PER_KEY MAX_SUBSCRIPTIONS_PER_KEY MAX_TASKS_PER_KEY MAX_UNREAD_FROM_STRANGERS MAX_WAITS MAX_WAITS_PER_KEY
MIGRATE NOTIFICATIONS OIDC_AGENT_CLAIM OIDC_AGENT_PREFIX OIDC_AUDIENCE OIDC_CLIENT_ID OIDC_CLOCK_SKEW OIDC_HUMAN_CLAIM OIDC_ISSUER
OIDC_ROLES_CLAIM OIDC_SCOPES PUBLIC_URL QUOTA_BYTES_PER_INTENT QUOTA_BYTES_PER_SECOND QUOTA_MESSAGES_PER_SECOND
QUOTA_ROWS_PER_SECOND QUOTA_STORED_BYTES_PER_SECOND READY_FILE REPOMESH_INTENT RETENTION SEARCH SETTINGS_FILE SLOW_STATEMENTS
STATUS_CADENCE STOP_TIMEOUT TEST_CLOCK TLS_CERT TLS_CLIENT_CA TLS_CLIENT_NAME TLS_KEY TRACE_CONTENTS WEBHOOK_ALLOWED_NETWORKS
`)

func TestEverySettingIsEitherShownOrSecret(t *testing.T) {
	var all []string
	for field := range reflect.TypeFor[Config]().Fields() {
		if name, set := strings.CutPrefix(field.Tag.Get("env"), "OPENINTENT_"); set {
			all = append(all, name)
		}
	}
	decided := slices.Clone(harmless)
	for _, name := range secretSettings {
		decided = append(decided, strings.TrimPrefix(name, "OPENINTENT_"))
	}
	require.ElementsMatch(t, all, decided)
}

func TestNoSecretIsShown(t *testing.T) {
	cfg := DefaultConfig()
	cfg.APIKeys, cfg.DatabaseURL, cfg.OIDCClientSecret, cfg.MailRelay = "secret", "postgres://u:secret@h/d", "secret", "smtp://u:secret@h"
	cfg.DefaultAccess, cfg.Console = "closed", false
	shown := make([]string, 0, len(harmless))
	for _, setting := range cfg.shown() {
		require.NotContains(t, setting.GetValue(), "secret", setting.GetName())
		shown = append(shown, strings.TrimPrefix(setting.GetName(), "OPENINTENT_"))
		changed := setting.GetName() == "OPENINTENT_DEFAULT_ACCESS" || setting.GetName() == "OPENINTENT_CONSOLE"
		require.Equal(t, !changed, setting.GetIsDefault(), setting.GetName())
	}
	require.ElementsMatch(t, harmless, shown)
}
