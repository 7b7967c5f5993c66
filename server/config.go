package server

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/webhooks"
)

// Config holds every setting of a server. cmd/openintent turns its tags into flags and environment variables;
// DefaultConfig gives other programs the same defaults.
type Config struct {
	SettingsFile string `name:"settings-file" env:"OPENINTENT_SETTINGS_FILE" aliases:"config" help:"YAML file with settings under the names of these flags; flags and variables precede it. Read when the server starts."`

	DatabaseURL string `name:"database-url" env:"OPENINTENT_DATABASE_URL" default:"sqlite:./openintent.db" help:"Where to keep data: sqlite:PATH, sqlite::memory: or postgres://USER@HOST/NAME."`
	Migrate     bool   `name:"migrate" env:"OPENINTENT_MIGRATE" default:"true" negatable:"" help:"Whether to bring the database's schema up to date at the start; without it, the server refuses a database that openintent migrate has not brought up to date."`
	HTTPAddr    string `name:"http-addr" env:"OPENINTENT_HTTP_ADDR" default:"127.0.0.1:8000" help:"Address for REST, as host:port; port 0 picks one."`
	GRPCAddr    string `name:"grpc-addr" env:"OPENINTENT_GRPC_ADDR" default:"127.0.0.1:50051" help:"Address for gRPC, as host:port; port 0 picks one."`
	AdminAddr   string `name:"admin-addr" env:"OPENINTENT_ADMIN_ADDR" help:"Address for whoever runs the server, as host:port: /healthz, /readyz, /metrics and /debug/pprof, without TLS and without keys; empty for none."`

	APIKeys     string `name:"api-keys" env:"OPENINTENT_API_KEYS" help:"Comma-separated API keys: KEY acts as any agent or the operator, KEY=agent-a|agent-b only as those. Options follow either: ;roles=role-a|role-b are the roles that its agents may take (;roles=* any, none without it), ;intents=ID|ID and ;channels=ID|ID are where the key works, ;sdk turns on the compatibility profile, ;messages_per_second=N and ;bytes_per_second=N bound what it sends."`
	APIKeysFile string `name:"api-keys-file" env:"OPENINTENT_API_KEYS_FILE" help:"The same as a YAML list; read again on SIGHUP."`

	DefaultAccess string `name:"default-access" env:"OPENINTENT_DEFAULT_ACCESS" default:"open" enum:"open,closed" help:"Who may use an intent without an access list: open (everyone with a key reads, takes part, writes state and works on tasks) or closed (only the agents related to it)."`

	TLSCert string `name:"tls-cert" env:"OPENINTENT_TLS_CERT" help:"Certificate chain (PEM) for both ports; like the other TLS files read again on SIGHUP, and when it changes."`
	TLSKey  string `name:"tls-key" env:"OPENINTENT_TLS_KEY" help:"Private key (PEM) of the certificate."`

	TLSClientCA   string `name:"tls-client-ca" env:"OPENINTENT_TLS_CLIENT_CA" help:"Certificates (PEM) of the authorities whose client certificates prove who calls without an API key."`
	TLSClientName string `name:"tls-client-name" env:"OPENINTENT_TLS_CLIENT_NAME" default:"cn" enum:"cn,dns,uri" help:"What of a client certificate names the agent: cn (the subject's common name), dns (the first DNS name) or uri (the first URI)."`

	OIDCIssuer       string        `name:"oidc-issuer" env:"OPENINTENT_OIDC_ISSUER" help:"URL of the identity provider (OpenID Connect) whose tokens are accepted beside API keys."`
	OIDCAudience     string        `name:"oidc-audience" env:"OPENINTENT_OIDC_AUDIENCE" help:"The audience that a token must be meant for."`
	OIDCAgentClaim   string        `name:"oidc-agent-claim" env:"OPENINTENT_OIDC_AGENT_CLAIM" default:"sub" help:"The claim of a token that names the agent, or lists the agents, that it acts as."`
	OIDCAgentPrefix  string        `name:"oidc-agent-prefix" env:"OPENINTENT_OIDC_AGENT_PREFIX" help:"What is put before these names, so that they cannot be those of other agents."`
	OIDCRolesClaim   string        `name:"oidc-roles-claim" env:"OPENINTENT_OIDC_ROLES_CLAIM" help:"The claim of a token that lists the roles that its agents may take; without it they may take none."`
	OIDCHumanClaim   string        `name:"oidc-human-claim" env:"OPENINTENT_OIDC_HUMAN_CLAIM" help:"The claim of a token that is true if the token is a person's; without it every token is an agent's."`
	OIDCScopes       string        `name:"oidc-scopes" env:"OPENINTENT_OIDC_SCOPES" help:"Comma-separated scopes that clients at the door for MCP and the web console ask the identity provider for, beside openid, if its tokens need any."`
	OIDCClientID     string        `name:"oidc-client-id" env:"OPENINTENT_OIDC_CLIENT_ID" help:"The server's id at the identity provider, as a client with which people sign in at the web console; empty if they do not sign in there."`
	OIDCClientSecret string        `name:"oidc-client-secret" env:"OPENINTENT_OIDC_CLIENT_SECRET" help:"The client's secret, if the identity provider has given it one."`
	OIDCClockSkew    time.Duration `name:"oidc-clock-skew" env:"OPENINTENT_OIDC_CLOCK_SKEW" default:"30s" help:"How far the identity provider's clock may differ from the server's."`

	CORSOrigins  string `name:"cors-origins" env:"OPENINTENT_CORS_ORIGINS" help:"Comma-separated origins, as https://console.example:8443, whose pages may call REST from a browser."`
	PublicURL    string `name:"public-url" env:"OPENINTENT_PUBLIC_URL" help:"Address under which clients reach the REST port, as https://openintent.example or https://example.com/agents; the only source of addresses that the server hands on by itself."`
	AllowedHosts string `name:"allowed-hosts" env:"OPENINTENT_ALLOWED_HOSTS" help:"Comma-separated host names, as api.example, under which a proxy on this machine passes requests on to a port on loopback."`

	Doors string `name:"doors" env:"OPENINTENT_DOORS" default:"mcp,c2a,agent-channel,repomesh" help:"Comma-separated doors for agents that speak other protocols: mcp (at /mcp of the REST port), c2a (at /c2a), agent-channel (at /agent-channel), repomesh (at /v1/repomesh); none closes all."`

	Console bool `name:"console" env:"OPENINTENT_CONSOLE" default:"true" negatable:"" help:"Whether to serve the web console at /console of the REST port; without it there are no pages, no sessions and no cookies."`

	StatusCadence  time.Duration `name:"status-cadence" env:"OPENINTENT_STATUS_CADENCE" default:"60s" help:"How often an agent that holds work on an agent channel posts a status; after five times as long without a word it is presumed dead."`
	RepomeshIntent string        `name:"repomesh-intent" env:"OPENINTENT_REPOMESH_INTENT" help:"Id of the intent in which agents meet that speak RepoMesh's protocol; without it, the server makes the intent repomesh at first use."`

	DatabaseWriteConnections int `name:"database-write-connections" env:"OPENINTENT_DATABASE_WRITE_CONNECTIONS" default:"0" help:"How many connections for writing to open to PostgreSQL at most; 0 means 8. SQLite always has one."`
	DatabaseReadConnections  int `name:"database-read-connections" env:"OPENINTENT_DATABASE_READ_CONNECTIONS" default:"0" help:"How many connections for reading to open at most, at least 2; callers' reads take three quarters of them; 0 means 8 with PostgreSQL and 4 with SQLite."`
	DatabaseHeavyConnections int `name:"database-heavy-connections" env:"OPENINTENT_DATABASE_HEAVY_CONNECTIONS" default:"0" help:"How many connections for large reads, such as pages of lists, to open at most; 0 means 2."`

	LogLevel  string `name:"log-level" env:"OPENINTENT_LOG_LEVEL" default:"info" enum:"debug,info,warn,error" help:"What to log: debug, info, warn or error."`
	LogFormat string `name:"log-format" env:"OPENINTENT_LOG_FORMAT" default:"auto" enum:"auto,text,json" help:"How to log: text, json, or auto (text on a terminal, JSON otherwise)."`

	TraceContents  bool          `name:"trace-contents" env:"OPENINTENT_TRACE_CONTENTS" default:"false" help:"Whether spans of events on agent channels carry the beginning of what the events say (input.value); only where traces are sent to a collector."`
	SlowStatements time.Duration `name:"slow-statements" env:"OPENINTENT_SLOW_STATEMENTS" default:"0s" help:"How long a statement on the database, or the wait for a connection to it, must take to be logged; 0 logs none."`

	MaxPayloadBytes  int           `name:"max-payload-bytes" env:"OPENINTENT_MAX_PAYLOAD_BYTES" default:"262144" help:"Bound of a message's payload with its metadata, in bytes."`
	MaxNameLength    int           `name:"max-name-length" env:"OPENINTENT_MAX_NAME_LENGTH" default:"128" help:"Bound of a channel's name, in characters."`
	MaxMembers       int           `name:"max-members" env:"OPENINTENT_MAX_MEMBERS" default:"10000" help:"Bound of a channel's member list."`
	MaxUnread        int           `name:"max-unread-from-strangers" env:"OPENINTENT_MAX_UNREAD_FROM_STRANGERS" default:"10000" help:"How many unread messages one API key may have with an agent that has no relation to their sender, approximately."`
	Retention        time.Duration `name:"retention" env:"OPENINTENT_RETENTION" default:"24h" help:"How long messages are kept after their intent ended, and unanswered requests without a deadline after their eviction."`
	EventRetention   time.Duration `name:"event-retention" env:"OPENINTENT_EVENT_RETENTION" default:"0s" help:"How long logged events are kept; of older ones a checkpoint stays. 0 keeps them for ever."`
	MaxStreams       int           `name:"max-streams" env:"OPENINTENT_MAX_STREAMS" default:"1000" help:"How many streams one caller may have open at once on this server."`
	MaxStreamsPerKey int           `name:"max-streams-per-key" env:"OPENINTENT_MAX_STREAMS_PER_KEY" default:"10000" help:"How many streams all callers with one API key may have open at once on this server."`
	MaxWaits         int           `name:"max-waits" env:"OPENINTENT_MAX_WAITS" default:"1000" help:"How many calls of one caller may wait at once on this server."`
	MaxWaitsPerKey   int           `name:"max-waits-per-key" env:"OPENINTENT_MAX_WAITS_PER_KEY" default:"10000" help:"How many calls of all callers with one API key may wait at once on this server."`
	QuotaMessages    int64         `name:"quota-messages-per-second" env:"OPENINTENT_QUOTA_MESSAGES_PER_SECOND" default:"0" help:"How many messages each API key may send in a second through this server; 0 is no bound."`
	QuotaBytes       int64         `name:"quota-bytes-per-second" env:"OPENINTENT_QUOTA_BYTES_PER_SECOND" default:"0" help:"How many bytes of payload and metadata each API key may send in a second through this server; 0 is no bound."`
	QuotaRows        int64         `name:"quota-rows-per-second" env:"OPENINTENT_QUOTA_ROWS_PER_SECOND" default:"0" help:"How many rows the calls of each API key may add or change in a second through this server; 0 is no bound."`
	QuotaStoredBytes int64         `name:"quota-stored-bytes-per-second" env:"OPENINTENT_QUOTA_STORED_BYTES_PER_SECOND" default:"0" help:"How many bytes the calls of each API key may store in a second through this server; 0 is no bound."`
	QuotaIntentBytes int64         `name:"quota-bytes-per-intent" env:"OPENINTENT_QUOTA_BYTES_PER_INTENT" default:"0" help:"How many bytes of messages and logged events one intent may hold, approximately; 0 is no bound."`

	MaxIntentsPerKey       int64 `name:"max-intents-per-key" env:"OPENINTENT_MAX_INTENTS_PER_KEY" default:"100000" help:"How many intents that have not ended one API key may hold, approximately; 0 is no bound."`
	MaxChannelsPerKey      int64 `name:"max-channels-per-key" env:"OPENINTENT_MAX_CHANNELS_PER_KEY" default:"100000" help:"How many open channels one API key may hold, approximately; 0 is no bound."`
	MaxTasksPerKey         int64 `name:"max-tasks-per-key" env:"OPENINTENT_MAX_TASKS_PER_KEY" default:"1000000" help:"How many tasks that have not ended one API key may hold, approximately; 0 is no bound."`
	MaxSubscriptionsPerKey int64 `name:"max-subscriptions-per-key" env:"OPENINTENT_MAX_SUBSCRIPTIONS_PER_KEY" default:"10000" help:"How many subscriptions one API key may hold, approximately; 0 is no bound."`
	MaxDocumentsPerKey     int64 `name:"max-documents-per-key" env:"OPENINTENT_MAX_DOCUMENTS_PER_KEY" default:"100000" help:"How many documents of channels one API key may hold, approximately; 0 is no bound."`

	MaxSessionsPerKey int `name:"max-sessions-per-key" env:"OPENINTENT_MAX_SESSIONS_PER_KEY" default:"1000" help:"How many sessions of the web console one API key may have; one more ends the oldest."`

	StopTimeout time.Duration `name:"stop-timeout" env:"OPENINTENT_STOP_TIMEOUT" default:"10s" help:"How long a stop may take before what still runs is cut off."`

	Search bool `name:"search" env:"OPENINTENT_SEARCH" default:"true" negatable:"" help:"Whether to keep an index of messages' words for search; without it, searches are refused and the index is removed. Set it alike on all servers."`

	Notifications          bool   `name:"notifications" env:"OPENINTENT_NOTIFICATIONS" default:"true" negatable:"" help:"Whether servers that share a PostgreSQL wake each other immediately; without it, each looks again every few seconds."`
	WebhookAllowedNetworks string `name:"webhook-allowed-networks" env:"OPENINTENT_WEBHOOK_ALLOWED_NETWORKS" help:"Comma-separated networks, as 10.1.0.0/16, that webhooks may reach although they are private, loopback or otherwise reserved."`

	MailRelay string `name:"mail-relay" env:"OPENINTENT_MAIL_RELAY" help:"Relay for mail to people's contacts, as smtp://USER:PASSWORD@HOST:587 (STARTTLS) or smtps://USER:PASSWORD@HOST (TLS); empty for no mail."`
	MailFrom  string `name:"mail-from" env:"OPENINTENT_MAIL_FROM" help:"Address from which mail to people's contacts comes, as openintent@example.com; needed with a relay."`

	ReadyFile string `name:"ready-file" env:"OPENINTENT_READY_FILE" help:"File to write once the server is ready, with its addresses and its process id as JSON; it is removed when the server stops."`

	TestClock bool `name:"test-clock" env:"OPENINTENT_TEST_CLOCK" default:"false" help:"Whether the server's clock stands and a test moves it, with POST /v1/test/clock; only with SQLite, on loopback, and with the development key."`

	// SettingsSecret says that the settings file holds a secret, so that nobody else should read it.
	SettingsSecret bool `kong:"-"`
	// UselessVariables are sentences about variables of the environment that look like settings and have no effect, for the log.
	UselessVariables []string `kong:"-"`
	// Version is the program's version, for the log and for discovery.
	Version string `kong:"-"`
	// Commit is the commit that the program was built from.
	Commit string `kong:"-"`
	// Log is where the log is written; nil means standard error.
	Log io.Writer `kong:"-"`

	// Only tests set the following fields. Clock returns the time; nil is the production clock. LookAgain is the
	// longest time that a wait or a stream goes without looking; zero means the default. Hooks inject faults into
	// transactions. Kept is how many entries each of the rooms' caches may hold, and LookedAt at how many messages one page looks.
	Clock func() time.Time `kong:"-"`
	// MaxStrangers replaces the bound on connections without a key (unauthenticated_connections.go).
	MaxStrangers int            `kong:"-"`
	LookAgain    time.Duration  `kong:"-"`
	Hooks        database.Hooks `kong:"-"`
	Kept         int            `kong:"-"`
	LookedAt     int            `kong:"-"`
}

// DefaultConfig returns the settings of a server for which nothing is configured.
func DefaultConfig() Config {
	return Config{
		DatabaseURL:      "sqlite:./openintent.db",
		Migrate:          true,
		HTTPAddr:         "127.0.0.1:8000",
		GRPCAddr:         "127.0.0.1:50051",
		DefaultAccess:    "open",
		TLSClientName:    "cn",
		OIDCAgentClaim:   "sub",
		OIDCClockSkew:    30 * time.Second,
		Doors:            "mcp,c2a,agent-channel,repomesh",
		Console:          true,
		StatusCadence:    time.Minute,
		LogLevel:         "info",
		LogFormat:        "auto",
		MaxPayloadBytes:  256 << 10,
		MaxNameLength:    128,
		MaxMembers:       10_000,
		MaxUnread:        10_000,
		Retention:        24 * time.Hour,
		MaxStreams:       1000,
		MaxStreamsPerKey: 10_000,
		MaxWaits:         1000,
		MaxWaitsPerKey:   10_000,
		StopTimeout:      10 * time.Second,

		MaxIntentsPerKey:       100_000,
		MaxChannelsPerKey:      100_000,
		MaxTasksPerKey:         1_000_000,
		MaxSubscriptionsPerKey: 10_000,
		MaxDocumentsPerKey:     100_000,
		MaxSessionsPerKey:      1000,

		Search:        true,
		Notifications: true,
	}
}

// SettingError refuses to start a server because a setting makes no sense. Its text names settings by their environment
// variables.
type SettingError struct{ error }

// Unwrap returns what is wrong.
func (e *SettingError) Unwrap() error { return e.error }

// validate refuses settings that make no sense, with a sentence for the operator.
func (c Config) validate() error {
	for _, bound := range []struct {
		name     string
		positive bool
	}{
		{"OPENINTENT_MAX_PAYLOAD_BYTES", c.MaxPayloadBytes > 0},
		{"OPENINTENT_MAX_NAME_LENGTH", c.MaxNameLength > 0},
		{"OPENINTENT_MAX_MEMBERS", c.MaxMembers > 0},
		{"OPENINTENT_MAX_UNREAD_FROM_STRANGERS", c.MaxUnread > 0},
		{"OPENINTENT_RETENTION", c.Retention > 0},
		{"OPENINTENT_MAX_STREAMS", c.MaxStreams > 0},
		{"OPENINTENT_MAX_STREAMS_PER_KEY", c.MaxStreamsPerKey > 0},
		{"OPENINTENT_MAX_WAITS", c.MaxWaits > 0},
		{"OPENINTENT_MAX_WAITS_PER_KEY", c.MaxWaitsPerKey > 0},
		{"OPENINTENT_MAX_SESSIONS_PER_KEY", c.MaxSessionsPerKey > 0},
		{"OPENINTENT_STOP_TIMEOUT", c.StopTimeout > 0},
		{"OPENINTENT_STATUS_CADENCE", c.StatusCadence > 0},
	} {
		if !bound.positive {
			return fmt.Errorf("%s must be above 0", bound.name)
		}
	}
	if c.SlowStatements < 0 {
		return errors.New("OPENINTENT_SLOW_STATEMENTS must not be negative; 0 logs none")
	}
	if c.EventRetention < 0 {
		return errors.New("OPENINTENT_EVENT_RETENTION must not be negative; 0 keeps events for ever")
	}
	if c.QuotaIntentBytes < 0 {
		return errors.New("OPENINTENT_QUOTA_BYTES_PER_INTENT must not be negative; 0 is no bound")
	}
	if c.QuotaMessages < 0 || c.QuotaBytes < 0 {
		return errors.New("OPENINTENT_QUOTA_MESSAGES_PER_SECOND and OPENINTENT_QUOTA_BYTES_PER_SECOND must not be negative; 0 is no bound")
	}
	if c.QuotaRows < 0 || c.QuotaStoredBytes < 0 {
		return errors.New("OPENINTENT_QUOTA_ROWS_PER_SECOND and OPENINTENT_QUOTA_STORED_BYTES_PER_SECOND must not be negative; 0 is no bound")
	}
	for kind, bound := range c.stock() {
		if bound < 0 {
			return fmt.Errorf("OPENINTENT_MAX_%s_PER_KEY must not be negative; 0 is no bound", strings.ToUpper(kind))
		}
	}
	if err := c.checkConnections(); err != nil {
		return err
	}
	for _, address := range []struct{ name, value string }{
		{"OPENINTENT_HTTP_ADDR", c.HTTPAddr},
		{"OPENINTENT_GRPC_ADDR", c.GRPCAddr},
		{"OPENINTENT_ADMIN_ADDR", c.AdminAddr},
	} {
		if address.value == "" && address.name == "OPENINTENT_ADMIN_ADDR" {
			continue
		}
		if _, _, err := net.SplitHostPort(address.value); err != nil {
			return fmt.Errorf("%s must be host:port, such as 127.0.0.1:8000; it is %q", address.name, address.value)
		}
	}
	if c.DefaultAccess != string(intents.PolicyOpen) && c.DefaultAccess != string(intents.PolicyClosed) {
		return fmt.Errorf("OPENINTENT_DEFAULT_ACCESS must be open or closed; it is %q", c.DefaultAccess)
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		return errors.New("OPENINTENT_TLS_CERT and OPENINTENT_TLS_KEY belong together; set both or neither")
	}
	for _, check := range []func() error{c.checkClientNames, c.checkTokens, c.checkPublicURL, c.checkMail, c.validateHosts, c.validateOrigins, c.validateDoors} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// mostConnections bounds each of the pools of connections. A PostgreSQL server that takes more is rare, and each costs it memory.
const mostConnections = 1000

func (c Config) checkConnections() error {
	for _, pool := range []struct {
		name string
		size int
	}{
		{"OPENINTENT_DATABASE_WRITE_CONNECTIONS", c.DatabaseWriteConnections},
		{"OPENINTENT_DATABASE_READ_CONNECTIONS", c.DatabaseReadConnections},
		{"OPENINTENT_DATABASE_HEAVY_CONNECTIONS", c.DatabaseHeavyConnections},
	} {
		if pool.size < 0 || pool.size > mostConnections {
			return fmt.Errorf("%s must be from 0 to %d; 0 means the default", pool.name, mostConnections)
		}
	}
	return nil
}

// keys loads the configured API keys. Without any, the server accepts the development key, but only on loopback.
func (c Config) keys() (keys *Keys, development bool, err error) {
	keys, err = LoadKeys(c.APIKeys, c.APIKeysFile)
	if err != nil {
		return nil, false, err
	}
	keys.SetRates(c.rates())
	if keys.Count() > 0 {
		return keys, false, nil
	}
	for _, address := range []string{c.HTTPAddr, c.GRPCAddr} {
		if !isLoopback(address) {
			return nil, false, fmt.Errorf("no API keys are configured, and without them the server listens on loopback "+
				"only, not on %s; set OPENINTENT_API_KEYS or OPENINTENT_API_KEYS_FILE", address)
		}
	}
	if c.AllowedHosts != "" {
		return nil, false, errors.New("no API keys are configured, and under the names of OPENINTENT_ALLOWED_HOSTS everybody " +
			"could use the development key; set OPENINTENT_API_KEYS or OPENINTENT_API_KEYS_FILE")
	}
	keys, err = LoadKeys(DevelopmentKey+";roles="+caller.AnyRole, "")
	return keys, true, err
}

// rates bound what a caller may send if nothing is set for it alone.
func (c Config) rates() caller.Rates {
	return caller.Rates{
		MessagesPerSecond: c.QuotaMessages, BytesPerSecond: c.QuotaBytes,
		RowsPerSecond: c.QuotaRows, StoredBytesPerSecond: c.QuotaStoredBytes,
	}
}

// stock bounds what a key may hold, by the kinds of intents.Stock.
func (c Config) stock() map[string]int64 {
	return map[string]int64{
		"intents": c.MaxIntentsPerKey, "channels": c.MaxChannelsPerKey, "tasks": c.MaxTasksPerKey,
		"subscriptions": c.MaxSubscriptionsPerKey, "documents": c.MaxDocumentsPerKey,
	}
}

// isLoopback reports whether only this machine can reach an address.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && isLoopbackHost(host)
}

// accessWithoutList describes, for the log, who may use intents without an access list.
func (c Config) accessWithoutList() string {
	if c.DefaultAccess == string(intents.PolicyClosed) {
		return "an intent without an access list is for the agents related to it only"
	}
	return "an intent without an access list is open: whoever has a key may read it, take part and write to it"
}

// webhooks returns the sender of webhooks.
func (c Config) webhooks() (*webhooks.Sender, error) {
	sender, err := webhooks.New(webhooks.Config{AllowedNetworks: c.WebhookAllowedNetworks, Version: c.Version})
	if err != nil {
		return nil, fmt.Errorf("OPENINTENT_WEBHOOK_ALLOWED_NETWORKS: %w", err)
	}
	return sender, nil
}

// maxBodyBytes bounds the body of a REST request: the largest payload with room for escapes and the other fields.
func (c Config) maxBodyBytes() int64 { return max(1<<20, 2*int64(c.MaxPayloadBytes)) }

// maxReceiveBytes bounds a gRPC request. It lies well above the protobuf size of any payload within its bound. So an
// oversized payload gets a refusal that names it, and not one from the transport.
func (c Config) maxReceiveBytes() int { return max(4<<20, 16*c.MaxPayloadBytes) }

func (c Config) log() io.Writer {
	if c.Log != nil {
		return c.Log
	}
	return os.Stderr
}
