package openintent

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// encrypted is the address of a server that speaks TLS, and a file with its certificate.
func encrypted(t *testing.T) (address, certificate string) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	certificate = filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	return server.Listener.Addr().String(), certificate
}

// unencrypted is the address of a server of HTTP without TLS.
func unencrypted(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

func TestMistakesInTLSFailAtOnceWithTheReason(t *testing.T) {
	address, certificate := encrypted(t)
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	open := unencrypted(t)
	for name, test := range map[string]struct {
		options Options
		says    string
	}{
		"a plain client": {
			Options{Server: address},
			"TLS_FAILED: The server at " + address + " speaks TLS, and this client does not: set OPENINTENT_TLS=1, or give the address as https://" + address,
		},
		"a plain server": {Options{Server: "https://" + open}, "TLS_FAILED: The server at " + open + " does not speak TLS, and this client does"},
		"an unknown authority": {
			Options{Server: "https://" + address}, "signed by unknown authority. Name a file with the certificates to trust in OPENINTENT_CA_FILE",
		},
		"another name": {Options{Server: "https://localhost:" + port, CAFile: certificate}, "certificate is valid for example.com, *.example.com, not localhost"},
	} {
		t.Run(name, func(t *testing.T) {
			test.options.RetryPatience = time.Hour
			client, err := Dial(test.options)
			require.NoError(t, err)
			defer func() { require.NoError(t, client.Close()) }()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err = client.GetIntent(ctx, "i")
			require.ErrorIs(t, err, ErrUnavailable)
			require.ErrorContains(t, err, test.says)
			err = client.Agent(AgentOptions{ID: "data", Log: newLogged().logger()}).Run(ctx)
			require.ErrorContains(t, err, test.says, "no retry can mend it")
			require.NoError(t, ctx.Err(), "not only at the deadline")
		})
	}
}

func TestAFileOfCertificatesIsTrusted(t *testing.T) {
	address, certificate := encrypted(t)
	t.Setenv("OPENINTENT_CA_FILE", certificate)
	client, err := Dial(Options{Server: address})
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	_, err = client.GetIntent(t.Context(), "i")
	require.ErrorContains(t, err, "does not speak gRPC", "it met the server")
	done, err := Options{Server: address, TLS: &tls.Config{MinVersion: tls.VersionTLS13}, CAFile: certificate}.completed()
	require.NoError(t, err)
	require.NotNil(t, done.TLS.RootCAs)
	require.EqualValues(t, tls.VersionTLS13, done.TLS.MinVersion)
	done, err = Options{Server: "http://" + address}.completed()
	require.NoError(t, err)
	require.Nil(t, done.TLS)

	_, err = Dial(Options{CAFile: "/does/not/exist.pem"})
	require.ErrorIs(t, err, ErrInvalidArgument)
	require.ErrorContains(t, err, "Options.CAFile must name a file with certificates, and it cannot be read: ")
	t.Setenv("OPENINTENT_CA_FILE", os.Args[0])
	_, err = Dial(Options{})
	require.ErrorContains(t, err, "OPENINTENT_CA_FILE must name a file with certificates in PEM form")
}
