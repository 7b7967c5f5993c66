package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// tlsPoll is how often the server looks whether the TLS files have changed.
const tlsPoll = time.Minute

// tlsFiles are the files of certificates of a server with TLS. When their content changes, new connections get the new one; those that are
// open go on under what they began with. Content that cannot be used changes nothing. A nil tlsFiles stands for a server without TLS.
type tlsFiles struct {
	cfg    Config
	logger *slog.Logger
	now    atomic.Pointer[tls.Config]

	mutex sync.Mutex
	seen  tlsContent
}

// tlsContent is what was found in the files, or why they could not be read.
type tlsContent struct {
	certificate, key, authorities []byte
	problem                       string
}

// openTLS reads the files for the first time, and returns nil if none are configured.
func openTLS(cfg Config, logger *slog.Logger) (*tlsFiles, error) {
	if cfg.TLSCert == "" {
		return nil, nil
	}
	f := &tlsFiles{cfg: cfg, logger: logger}
	return f, f.reload()
}

// reload reads the files, and uses what they hold if it can be used.
func (f *tlsFiles) reload() error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	content, err := f.read()
	f.seen = content
	return f.use(content, err)
}

// reloadIfChanged is reload for files that have changed since they were last read.
func (f *tlsFiles) reloadIfChanged(context.Context) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	content, err := f.read()
	if content.equal(f.seen) {
		return nil
	}
	f.seen = content
	f.report(f.use(content, err))
	return nil
}

// report logs what came of reading the files again.
func (f *tlsFiles) report(err error) {
	if err != nil {
		f.logger.Error("the TLS files were not read again; the old certificates stay", "error", err)
		return
	}
	f.logger.Info("the TLS files were read again", "certificate_ends", f.now.Load().Certificates[0].Leaf.NotAfter)
}

func (f *tlsFiles) read() (content tlsContent, err error) {
	for _, file := range []struct {
		setting, path string
		into          *[]byte
	}{
		{"OPENINTENT_TLS_CERT", f.cfg.TLSCert, &content.certificate},
		{"OPENINTENT_TLS_KEY", f.cfg.TLSKey, &content.key},
		{"OPENINTENT_TLS_CLIENT_CA", f.cfg.TLSClientCA, &content.authorities},
	} {
		if file.path == "" {
			continue
		}
		if *file.into, err = os.ReadFile(file.path); err != nil {
			err = fmt.Errorf("%s cannot be read: %w", file.setting, err)
			return tlsContent{problem: err.Error()}, err
		}
	}
	return content, nil
}

func (c tlsContent) equal(other tlsContent) bool {
	return c.problem == other.problem && bytes.Equal(c.certificate, other.certificate) && bytes.Equal(c.key, other.key) &&
		bytes.Equal(c.authorities, other.authorities)
}

// use makes new connections use what was read.
func (f *tlsFiles) use(content tlsContent, unread error) error {
	if unread != nil {
		return unread
	}
	certificate, err := tls.X509KeyPair(content.certificate, content.key)
	if err != nil {
		return fmt.Errorf("the TLS certificate and key cannot be used: %w", err)
	}
	next := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	if f.cfg.TLSClientCA != "" {
		if err := f.askForCertificates(next, content.authorities); err != nil {
			return err
		}
	}
	f.now.Store(next)
	return nil
}

// askForCertificates lets clients show certificates of the configured authorities. A client that shows any other is refused at the
// handshake. crypto/tls resumes a session only if the authority of its certificate is still among those of the new connection.
func (f *tlsFiles) askForCertificates(next *tls.Config, authorities []byte) error {
	next.ClientCAs, next.ClientAuth = x509.NewCertPool(), tls.VerifyClientCertIfGiven
	if !next.ClientCAs.AppendCertsFromPEM(authorities) {
		return fmt.Errorf("OPENINTENT_TLS_CLIENT_CA names %s, which holds no certificate in PEM form", f.cfg.TLSClientCA)
	}
	return nil
}

// settings returns the TLS settings of a port that speaks these protocols, or nil for a port without TLS. Each connection gets what was
// read last.
func (f *tlsFiles) settings(protocols ...string) *tls.Config {
	if f == nil {
		return nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		current := f.now.Load().Clone()
		current.NextProtos = protocols
		return current, nil
	}}
}
