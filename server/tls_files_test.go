package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/credentials"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
)

// replaceFile gives a file the content of another, as a program does that renews certificates.
func replaceFile(t *testing.T, path, by string) {
	t.Helper()
	content, err := os.ReadFile(by)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, content, 0o600))
}

func TestNewTLSFilesServeNewConnections(t *testing.T) {
	for name, signal := range map[string]bool{"by themselves": false, "at SIGHUP": true} {
		t.Run(name, func(t *testing.T) {
			cfg := testConfig(t)
			before, after := x509.NewCertPool(), x509.NewCertPool()
			cfg.TLSCert, cfg.TLSKey = writeCertificate(t, before)
			if !signal {
				cfg.LookAgain = time.Millisecond
			}
			server := start(t, cfg)
			defer server.stop(t)
			old := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: before, MinVersion: tls.VersionTLS12}}}
			defer old.CloseIdleConnections()
			stream := dial(t, server.GRPC, credentials.NewTLS(&tls.Config{RootCAs: before, MinVersion: tls.VersionTLS12}))
			defer func() { _ = stream.Close() }()
			goesOn := func() {
				code, _ := get(t, old, "https://"+server.HTTP+"/readyz")
				require.Equal(t, http.StatusOK, code)
				_, err := healthv1.NewHealthClient(stream).Check(as(t), &healthv1.HealthCheckRequest{})
				require.NoError(t, err)
			}
			goesOn()

			certificate, key := writeCertificate(t, after)
			replaceFile(t, cfg.TLSCert, certificate)
			replaceFile(t, cfg.TLSKey, key)
			if signal {
				require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
			}
			for _, address := range []string{server.HTTP, server.GRPC} {
				require.Eventually(t, func() bool { return connects(address, after) }, patience, time.Millisecond)
				require.False(t, connects(address, before))
			}
			goesOn()
			require.Contains(t, cfg.Log.(*lockedBuffer).String(), "the TLS files were read again")
		})
	}
}

// connects tries a handshake on a new connection, as a client that trusts a pool.
func connects(address string, roots *x509.CertPool) bool {
	connection, err := tls.Dial("tcp", address, &tls.Config{RootCAs: roots, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12})
	if err == nil {
		_ = connection.Close()
	}
	return err == nil
}

func TestBrokenTLSFilesChangeNothingAndAreLoggedOnce(t *testing.T) {
	cfg := DefaultConfig()
	cfg.TLSCert, cfg.TLSKey = writeCertificate(t, x509.NewCertPool())
	cfg.TLSClientCA = cfg.TLSCert + ".ca"
	replaceFile(t, cfg.TLSClientCA, cfg.TLSCert)
	var log bytes.Buffer
	files, err := openTLS(cfg, slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	good := cfg.TLSCert + ".good"
	replaceFile(t, good, cfg.TLSCert)
	first := files.now.Load()
	another, _ := writeCertificate(t, x509.NewCertPool())
	for _, fault := range []struct {
		what    string
		change  func()
		problem string
	}{
		{"a certificate of another key", func() { replaceFile(t, cfg.TLSCert, another) }, "cannot be used"},
		{"no certificate", func() { require.NoError(t, os.WriteFile(cfg.TLSCert, nil, 0o600)) }, "cannot be used"},
		{"no file", func() { require.NoError(t, os.Remove(cfg.TLSCert)) }, "OPENINTENT_TLS_CERT cannot be read"},
		{"no authority", func() {
			replaceFile(t, cfg.TLSCert, good)
			require.NoError(t, os.WriteFile(cfg.TLSClientCA, []byte("none"), 0o600))
		}, "holds no certificate in PEM form"},
	} {
		fault.change()
		log.Reset()
		for range 3 {
			require.NoError(t, files.reloadIfChanged(t.Context()))
		}
		require.Same(t, first, files.now.Load(), fault.what)
		require.Equal(t, 1, strings.Count(log.String(), "\n"), "%s: %s", fault.what, &log)
		require.Contains(t, log.String(), fault.problem)
		require.NotContains(t, log.String(), "PRIVATE KEY")
	}
	replaceFile(t, cfg.TLSClientCA, good)
	log.Reset()
	for range 3 {
		require.NoError(t, files.reloadIfChanged(t.Context()))
	}
	require.NotSame(t, first, files.now.Load())
	require.Equal(t, 1, strings.Count(log.String(), "were read again"), &log)
}

// TestAnAuthorityThatIsTakenAwayLetsNobodyBackIn tries to come back by a session that began under an authority.
func TestAnAuthorityThatIsTakenAwayLetsNobodyBackIn(t *testing.T) {
	cfg := DefaultConfig()
	roots := x509.NewCertPool()
	cfg.TLSCert, cfg.TLSKey = writeCertificate(t, roots)
	clients, clientsKey := writeCertificate(t, x509.NewCertPool())
	cfg.TLSClientCA = cfg.TLSCert + ".ca"
	replaceFile(t, cfg.TLSClientCA, clients)
	files, err := openTLS(cfg, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", files.settings("h2"))
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	shown, err := tls.LoadX509KeyPair(clients, clientsKey)
	require.NoError(t, err)
	client := &tls.Config{
		RootCAs: roots, MinVersion: tls.VersionTLS12, ClientSessionCache: tls.NewLRUClientSessionCache(10),
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &shown, nil },
	}
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		client.MaxVersion = version
		replaceFile(t, cfg.TLSClientCA, clients)
		require.NoError(t, files.reloadIfChanged(t.Context()))
		chains, err := meet(listener, client)
		require.NoError(t, err)
		require.Len(t, chains, 1)
		replaceFile(t, cfg.TLSClientCA, cfg.TLSCert)
		require.NoError(t, files.reloadIfChanged(t.Context()))
		_, err = meet(listener, client)
		require.Error(t, err)
	}
}

// meet connects to a listener and returns what the listener knows of the client.
func meet(listener net.Listener, client *tls.Config) ([][]*x509.Certificate, error) {
	go func() {
		connection, err := tls.Dial("tcp", listener.Addr().String(), client)
		if err == nil {
			_, _ = io.Copy(io.Discard, connection) // reads the tickets of TLS 1.3
			_ = connection.Close()
		}
	}()
	accepted, err := listener.Accept()
	if err != nil {
		return nil, err
	}
	defer func() { _ = accepted.Close() }()
	connection, ok := accepted.(*tls.Conn)
	if !ok {
		return nil, errors.New("not a connection with TLS")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err = connection.HandshakeContext(ctx)
	return connection.ConnectionState().VerifiedChains, err
}
