package server

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
)

func TestHowACertificateNamesItsAgent(t *testing.T) {
	for _, test := range []struct {
		setting string
		shown   x509.Certificate
		agent   string
	}{
		{"cn", x509.Certificate{Subject: pkix.Name{CommonName: "alice"}, DNSNames: []string{"bob"}}, "alice"},
		{"cn", x509.Certificate{DNSNames: []string{"bob"}}, ""},
		{"dns", x509.Certificate{Subject: pkix.Name{CommonName: "alice"}, DNSNames: []string{"bob.example.org", "carol"}}, "bob.example.org"},
		{"dns", x509.Certificate{Subject: pkix.Name{CommonName: "alice"}}, ""},
		{"uri", x509.Certificate{URIs: uris(t, "spiffe://example.org/ns/a/sa/alice", "spiffe://b")}, "spiffe:example.org:ns:a:sa:alice"},
		{"uri", x509.Certificate{URIs: uris(t, "spiffe://example.org")}, "spiffe:example.org"},
		{"uri", x509.Certificate{URIs: uris(t, "spiffe://example.org/ns:a/sa")}, ""},
		{"uri", x509.Certificate{URIs: uris(t, "https://example.org:443/a")}, ""},
		{"uri", x509.Certificate{URIs: uris(t, "https://example.org/a?b")}, ""},
		{"uri", x509.Certificate{URIs: uris(t, "https://example.org/a%3Ab")}, ""},
		{"uri", x509.Certificate{URIs: uris(t, "https://user@example.org/a")}, ""},
		{"uri", x509.Certificate{URIs: uris(t, "urn:example:alice")}, ""},
		{"uri", x509.Certificate{URIs: uris(t, "role://example.org/a")}, ""}, // reserved
		{"uri", x509.Certificate{Subject: pkix.Name{CommonName: "alice"}}, ""},
	} {
		cfg := DefaultConfig()
		cfg.TLSClientCA, cfg.TLSClientName = "ca.pem", test.setting
		test.shown.NotAfter = time.Now().Add(time.Hour)
		ctx := peer.NewContext(t.Context(), &peer.Peer{AuthInfo: credentials.TLSInfo{
			State: tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{&test.shown}}},
		}})
		key, err := newCertificates(cfg, time.Now).find(ctx)
		if test.agent == "" {
			require.ErrorContains(t, err, "CERTIFICATE_NAME_INVALID")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, []string{test.agent}, key.agents)
		require.True(t, key.bound)
		require.Empty(t, key.roles)
	}
}

func uris(t *testing.T, texts ...string) (parsed []*url.URL) {
	t.Helper()
	for _, text := range texts {
		uri, err := url.Parse(text)
		require.NoError(t, err)
		parsed = append(parsed, uri)
	}
	return parsed
}

func TestAChainEndsWithTheFirstOfItsCertificates(t *testing.T) {
	at := func(minutes int) *x509.Certificate {
		return &x509.Certificate{NotAfter: time.UnixMicro(0).Add(time.Duration(minutes) * time.Minute)}
	}
	for want, chains := range map[int][][]*x509.Certificate{
		5: {{at(5), at(9)}}, 4: {{at(5), at(4)}}, 7: {{at(8), at(4)}, {at(8), at(7)}, {at(8), at(6)}},
	} {
		require.Equal(t, at(want).NotAfter, endOf(chains))
	}
}

func TestSettingsOfClientCertificates(t *testing.T) {
	cfg := DefaultConfig()
	cfg.TLSClientCA = "ca.pem"
	require.ErrorContains(t, cfg.validate(), "OPENINTENT_TLS_CLIENT_CA needs TLS")
	cfg.TLSCert, cfg.TLSKey = writeCertificate(t, x509.NewCertPool())
	require.NoError(t, cfg.validate())
	_, err := openTLS(cfg, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "OPENINTENT_TLS_CLIENT_CA cannot be read")
	cfg.TLSClientCA = filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(cfg.TLSClientCA, []byte("none"), 0o600))
	_, err = openTLS(cfg, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "holds no certificate")
	cfg.TLSClientCA = cfg.TLSCert
	encryption, err := openTLS(cfg, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.Equal(t, tls.VerifyClientCertIfGiven, encryption.now.Load().ClientAuth)
	cfg.TLSClientName = "email"
	require.ErrorContains(t, cfg.validate(), "OPENINTENT_TLS_CLIENT_NAME must be cn, dns or uri")
}
