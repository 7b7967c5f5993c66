package main

import (
	"crypto/x509"
	"encoding/pem"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/server"
)

// certificate writes files with a self-signed certificate for 127.0.0.1 and with its key, and returns their paths.
func certificate(t *testing.T) (certificatePath, keyPath string) {
	t.Helper()
	// The standard library's own test server has such a certificate.
	lender := httptest.NewTLSServer(nil)
	defer lender.Close()
	lent := lender.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(lent.PrivateKey)
	require.NoError(t, err)
	encoded := func(kind string, bytes []byte) string {
		return file(t, string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes})))
	}
	return encoded("CERTIFICATE", lent.Certificate[0]), encoded("PRIVATE KEY", key)
}

func TestTLS(t *testing.T) {
	clearEnvironment(t)
	certificatePath, keyPath := certificate(t)
	h := harness.Start(t, harness.Options{Configure: func(cfg *server.Config) {
		cfg.TLSCert, cfg.TLSKey = certificatePath, keyPath
	}})
	intents := []string{"intents", "--api-key", harness.Key, "--server"}
	require.Equal(t, exitOK, at(t, "", append(intents, h.GRPCAddress(), "--ca-file", certificatePath)...).exit)
	stranger := at(t, "", append(intents, "https://"+h.GRPCAddress())...)
	require.Equal(t, exitUnavailable, stranger.exit)
	require.Contains(t, stranger.stderr, "certificate signed by unknown authority")
	t.Setenv("OPENINTENT_PATIENCE", "100ms")
	require.Equal(t, exitUnavailable, at(t, "", append(intents, h.GRPCAddress())...).exit, "in the clear")

	require.Equal(t, outcome{}, at(t, "", "context", "set", "secure", "--server", "https://"+h.GRPCAddress(),
		"--api-key", harness.Key, "--ca-file", certificatePath))
	require.Equal(t, exitOK, at(t, "", "intents").exit, "a context keeps all of it")
}
