package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintent "openintent/sdk/go"
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
	require.Contains(t, stranger.stderr, "certificate signed by unknown authority. Name a file with the certificates to trust in OPENINTENT_CA_FILE")
	plain := at(t, "", append(intents, h.GRPCAddress())...)
	require.Equal(t, exitUnavailable, plain.exit)
	require.Contains(t, plain.stderr, "speaks TLS, and this client does not: set OPENINTENT_TLS=1, or give the address as https://"+h.GRPCAddress())

	require.Equal(t, outcome{}, at(t, "", "context", "set", "secure", "--server", "https://"+h.GRPCAddress(),
		"--api-key", harness.Key, "--ca-file", certificatePath))
	require.Equal(t, exitOK, at(t, "", "intents").exit, "a context keeps all of it")
}

func TestACommandSaysOnceThatItWaitsForTheServer(t *testing.T) {
	clearEnvironment(t)
	for _, command := range [][]string{{"intents"}, {"inbox", "--agent", "a"}, {"messages", "chan_01M7YCHKJ11MAM2FWJ1DX9NJHS", "--follow"}} {
		ctx, cancel := context.WithCancel(t.Context())
		reader, writer := io.Pipe()
		ended := make(chan int, 1)
		go func() {
			exit := run(ctx, append(command, "--server", nobodyThere), terminal{stdin: strings.NewReader(""), stdout: io.Discard, stderr: writer})
			_ = writer.Close()
			ended <- exit
		}()
		lines := bufio.NewScanner(reader)
		require.True(t, lines.Scan(), "the command waits and says so")
		require.Regexp(t, "^openintent: cannot reach the server at "+nobodyThere+" and keeps trying: .*connection refused.*Start a server with: openintent serve", lines.Text())
		cancel()
		require.True(t, lines.Scan())
		require.Equal(t, "openintent: interrupted", lines.Text())
		require.Equal(t, exitInterrupted, <-ended)
	}

	require.Equal(t, 5*time.Second, connection{}.connectTimeout(true, nobodyThere), "on a terminal")
	require.Zero(t, connection{}.connectTimeout(false, nobodyThere), "a script may wait for its server")
	require.Zero(t, connection{}.connectTimeout(true, "example.org:1"))
	require.Equal(t, time.Hour, connection{ConnectTimeout: time.Hour}.connectTimeout(true, nobodyThere))
	begun := at(t, "", "intents", "--server", nobodyThere, "--connect-timeout", "1ms")
	require.Equal(t, exitUnavailable, begun.exit)
	require.Contains(t, begun.stderr, "could not be reached within 1ms: Nobody listens at "+nobodyThere)

	var stderr bytes.Buffer
	say := connection{Patience: time.Second}.sayOnce(terminal{stderr: &stderr}, "host:1")
	away := &openintent.Error{Code: "UNAVAILABLE", Message: "The connection failed."}
	say(&openintent.Error{Code: "ABORTED", Message: "busy"})
	say(away)
	say(away)
	require.Equal(t, "openintent: cannot reach the server at host:1 and keeps trying: The connection failed. [UNAVAILABLE]\n", stderr.String())
}
