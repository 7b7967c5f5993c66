package openintent

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

// This file has what a client needs to know for TLS, and what it says when its settings and the server's do not fit.

// reasonNoTLS is the reason of the error for a server that speaks no TLS while the client does, or the other way round, or
// whose certificate is not trusted. Another attempt would not change that.
const reasonNoTLS = "TLS_FAILED"

// probeTimeout bounds how long a client looks whether a server speaks TLS.
const probeTimeout = 2 * time.Second

// secured returns the options with the TLS configuration that the settings ask for: none, the given one, or one that trusts
// the certificates of CAFile.
func (o Options) secured(address Address) (Options, error) {
	if o.TLS == nil {
		encrypted, err := encryptedByDefault()
		if err != nil {
			return o, err
		}
		setting := "Options.CAFile"
		if o.CAFile == "" {
			o.CAFile, setting = os.Getenv("OPENINTENT_CA_FILE"), "OPENINTENT_CA_FILE"
		}
		if address.Scheme == "https" || address.Scheme == "" && (encrypted || o.CAFile != "") {
			o.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
			return o.trusting(setting)
		}
		return o, nil
	}
	return o.trusting("Options.CAFile")
}

// trusting returns the options with a TLS configuration that trusts the certificates of CAFile alone, if there is one.
func (o Options) trusting(setting string) (Options, error) {
	if o.CAFile == "" {
		return o, nil
	}
	certificates, err := os.ReadFile(o.CAFile)
	if err != nil {
		return o, badSetting(setting, "must name a file with certificates, and it cannot be read: "+err.Error())
	}
	o.TLS = o.TLS.Clone()
	if o.TLS.RootCAs = x509.NewCertPool(); !o.TLS.RootCAs.AppendCertsFromPEM(certificates) {
		return o, badSetting(setting, fmt.Sprintf("must name a file with certificates in PEM form, and %s has none", o.CAFile))
	}
	return o, nil
}

// tlsFailed returns the error for a failure of TLS, with what to do about it; nil for any other failure.
func (o Options) tlsFailed(e *Error) *Error {
	if e.Reason != "" || e.Code != "UNAVAILABLE" {
		return nil
	}
	detail, failed := strings.CutPrefix(e.Message, "authentication handshake failed: tls: ")
	var text string
	switch {
	case failed && strings.Contains(detail, "does not look like a TLS handshake"):
		text = fmt.Sprintf("The server at %s does not speak TLS, and this client does: give the address without https://, and no setting for TLS.", o.Server)
	case failed && strings.Contains(detail, "unknown authority"):
		text = fmt.Sprintf("TLS with the server at %s failed: %s. Name a file with the certificates to trust in OPENINTENT_CA_FILE, or as an option.",
			o.Server, detail)
	case failed:
		text = fmt.Sprintf("TLS with the server at %s failed: %s", o.Server, detail)
	case strings.HasPrefix(e.Message, "error reading server preface") && o.TLS == nil && speaksTLS(o.Server):
		text = fmt.Sprintf("The server at %s speaks TLS, and this client does not: set OPENINTENT_TLS=1, or give the address as https://%[1]s.", o.Server)
	default:
		return nil
	}
	return &Error{Code: "UNAVAILABLE", Reason: reasonNoTLS, Message: text}
}

// speaksTLS reports whether a server begins a connection of TLS.
func speaksTLS(address string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	dialer := tls.Dialer{Config: &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"},
		InsecureSkipVerify: true, // nothing is sent, and what the server says is only an answer to "do you speak TLS?"
	}}
	connection, err := dialer.DialContext(ctx, "tcp", address)
	if err == nil {
		_ = connection.Close()
		return true
	}
	var alert *net.OpError // the server speaks TLS when it refuses the handshake in TLS's own words
	return errors.As(err, &alert) && alert.Op == "remote error"
}
