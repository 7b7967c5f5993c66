package server

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSettingsThatCannotBeMeantAreRefused(t *testing.T) {
	require.NoError(t, DefaultConfig().validate())
	for _, test := range []struct {
		name    string
		change  func(*Config)
		problem string
	}{
		{"payload", func(c *Config) { c.MaxPayloadBytes = 0 }, "OPENINTENT_MAX_PAYLOAD_BYTES must be above 0"},
		{"name", func(c *Config) { c.MaxNameLength = -1 }, "OPENINTENT_MAX_NAME_LENGTH must be above 0"},
		{"members", func(c *Config) { c.MaxMembers = 0 }, "OPENINTENT_MAX_MEMBERS must be above 0"},
		{"retention", func(c *Config) { c.Retention = 0 }, "OPENINTENT_RETENTION must be above 0"},
		{"stop timeout", func(c *Config) { c.StopTimeout = -time.Second }, "OPENINTENT_STOP_TIMEOUT must be above 0"},
		{"writers", func(c *Config) { c.DatabaseWriteConnections = -1 }, "OPENINTENT_DATABASE_WRITE_CONNECTIONS must be from 0 to 1000"},
		{"readers", func(c *Config) { c.DatabaseReadConnections = 1001 }, "OPENINTENT_DATABASE_READ_CONNECTIONS must be from 0 to 1000"},
		{"heavy readers", func(c *Config) { c.DatabaseHeavyConnections = -1 }, "OPENINTENT_DATABASE_HEAVY_CONNECTIONS must be from 0 to 1000"},
		{"REST address", func(c *Config) { c.HTTPAddr = "8000" }, "OPENINTENT_HTTP_ADDR must be host:port"},
		{"gRPC address", func(c *Config) { c.GRPCAddr = "" }, "OPENINTENT_GRPC_ADDR must be host:port"},
		{"admin address", func(c *Config) { c.AdminAddr = "8001" }, "OPENINTENT_ADMIN_ADDR must be host:port"},
		{"certificate alone", func(c *Config) { c.TLSCert = "c.pem" }, "belong together"},
		{"key alone", func(c *Config) { c.TLSKey = "k.pem" }, "belong together"},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg := DefaultConfig()
			test.change(&cfg)
			require.ErrorContains(t, cfg.validate(), test.problem)
		})
	}
}

func TestWithoutKeysTheServerListensOnLoopbackOnly(t *testing.T) {
	for address, allowed := range map[string]bool{
		"127.0.0.1:8000":           true,
		"127.8.8.8:8000":           true,
		"[::1]:8000":               true,
		"localhost:8000":           true,
		"[::ffff:127.0.0.1]:8000":  true,
		":8000":                    false,
		"0.0.0.0:8000":             false,
		"[::]:8000":                false,
		"192.168.1.5:8000":         false,
		"localhost.example:8000":   false,
		"127.0.0.1.example.:8000":  false,
		"[::ffff:192.0.2.1]:50051": false,
	} {
		for _, face := range []string{"REST", "gRPC"} {
			cfg := DefaultConfig()
			if face == "REST" {
				cfg.HTTPAddr = address
			} else {
				cfg.GRPCAddr = address
			}
			keys, development, err := cfg.keys()
			if !allowed {
				require.ErrorContains(t, err, "no API keys are configured", "%s on %s", face, address)
				require.ErrorContains(t, err, address)
				continue
			}
			require.NoError(t, err, "%s on %s", face, address)
			require.True(t, development)
			require.NotNil(t, keys.find(DevelopmentKey))

			cfg.APIKeys = "mine"
			keys, development, err = cfg.keys()
			require.NoError(t, err)
			require.False(t, development)
			require.Nil(t, keys.find(DevelopmentKey), "the development key serves only when there is no other")
		}
	}
	cfg := DefaultConfig()
	cfg.HTTPAddr, cfg.APIKeys = "0.0.0.0:8000", "mine"
	_, _, err := cfg.keys()
	require.NoError(t, err, "with keys, it may listen on any address")
}

func TestBoundsOfRequestsFollowThePayloads(t *testing.T) {
	cfg := DefaultConfig()
	require.Equal(t, int64(1<<20), cfg.maxBodyBytes())
	require.Equal(t, 4<<20, cfg.maxReceiveBytes())
	cfg.MaxPayloadBytes = 8 << 20
	require.Greater(t, cfg.maxBodyBytes(), int64(cfg.MaxPayloadBytes))
	require.Greater(t, int64(cfg.maxReceiveBytes()), cfg.maxBodyBytes())
}

func TestLogSettings(t *testing.T) {
	cfg := DefaultConfig()
	log := &lockedBuffer{}
	cfg.Log = log
	for format, want := range map[string]string{"auto": `{"time":`, "json": `{"time":`, "text": "time="} {
		cfg.LogFormat = format
		logger, err := newLogger(cfg)
		require.NoError(t, err)
		before := len(log.String())
		logger.Info("x")
		logger.Debug("unheard")
		require.Contains(t, log.String()[before:], want)
		require.NotContains(t, log.String(), "unheard")
	}
	cfg.LogFormat = "xml"
	_, err := newLogger(cfg)
	require.ErrorContains(t, err, "OPENINTENT_LOG_FORMAT must be")
	cfg.LogFormat, cfg.LogLevel = "json", "loud"
	_, err = newLogger(cfg)
	require.ErrorContains(t, err, "OPENINTENT_LOG_LEVEL must be")
}

func TestNetworksForWebhooksAreReadAtTheStart(t *testing.T) {
	cfg := DefaultConfig()
	cfg.WebhookAllowedNetworks = "127.0.0.0/8, fd00::/8"
	_, err := cfg.webhooks()
	require.NoError(t, err)
	cfg.WebhookAllowedNetworks = "intranet"
	require.ErrorContains(t, Run(t.Context(), cfg, nil), `OPENINTENT_WEBHOOK_ALLOWED_NETWORKS: "intranet" is no network`)
}
