package server

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	"openintent/internal/caller"
	"openintent/internal/fault"
)

var errCertificateExpired = fault.New(fault.Unauthenticated, "CERTIFICATE_EXPIRED",
	"The client certificate has expired; connect with a new one.")

// certificates finds callers by the client certificates of their connections. A certificate is bound to the agent that it names.
// It is never the operator's, and its agent may take no role. A nil certificates knows no callers.
type certificates struct {
	// named returns what names the agent; it is empty if nothing does.
	named  func(*x509.Certificate) string
	now    func() time.Time
	quotas *quotas
}

// agentNames are the ways to find an agent's name in a certificate, by the setting.
var agentNames = map[string]func(*x509.Certificate) string{
	"cn": func(certificate *x509.Certificate) string { return certificate.Subject.CommonName },
	"dns": func(certificate *x509.Certificate) string {
		if len(certificate.DNSNames) == 0 {
			return ""
		}
		return certificate.DNSNames[0]
	},
	"uri": func(certificate *x509.Certificate) string {
		if len(certificate.URIs) == 0 {
			return ""
		}
		return nameInURI(certificate.URIs[0])
	},
}

// nameInURI returns the name of an agent for a URI such as spiffe://example.org/alice: spiffe:example.org:alice. It returns
// nothing for a URI that has other parts, and thus never the same name for two URIs.
func nameInURI(uri *url.URL) string {
	text := uri.Scheme + "://" + uri.Host + uri.Path
	if uri.Host == "" || uri.String() != text || strings.Contains(uri.Host+uri.Path, ":") {
		return ""
	}
	return uri.Scheme + ":" + strings.ReplaceAll(uri.Host+uri.Path, "/", ":")
}

// newCertificates returns nil if no authority is configured.
func newCertificates(cfg Config, now func() time.Time) *certificates {
	if cfg.TLSClientCA == "" {
		return nil
	}
	return &certificates{named: agentNames[cfg.TLSClientName], now: now, quotas: newQuotas(cfg.rates())}
}

// checkClientNames refuses settings of client certificates that make no sense.
func (c Config) checkClientNames() error {
	switch {
	case agentNames[c.TLSClientName] == nil:
		return fmt.Errorf("OPENINTENT_TLS_CLIENT_NAME must be cn, dns or uri; it is %q", c.TLSClientName)
	case c.TLSClientCA != "" && c.TLSCert == "":
		return errors.New("OPENINTENT_TLS_CLIENT_CA needs TLS; set OPENINTENT_TLS_CERT and OPENINTENT_TLS_KEY, too")
	}
	return nil
}

// find returns what the certificate of a call's connection allows, or nil if its client has shown none. It fails if the certificate
// has expired or names no agent.
func (c *certificates) find(ctx context.Context) (*apiKey, error) {
	if c == nil {
		return nil, nil
	}
	chains := verifiedChains(ctx)
	if len(chains) == 0 {
		return nil, nil
	}
	name := c.named(chains[0][0])
	problem := agentProblem(name)
	switch {
	case name == "":
		return nil, badCertificate("names no agent in the place where this server looks")
	case caller.Reserved(name):
		return nil, badCertificate("names a reserved word (operator, system, * or role:...) in place of an agent")
	case problem != "":
		return nil, badCertificate("names an agent, and an agent's id " + problem)
	}
	id := credentialID("certificate", name)
	key := &apiKey{
		id: id, subject: "certificate " + name, keySettings: keySettings{bound: true, agents: []string{name}}, quota: c.quotas.of(id),
		until: endOf(chains), over: errCertificateExpired, valid: context.Background(),
	}
	if key.expired(c.now()) {
		return nil, key.over
	}
	return key, nil
}

// verifiedChains returns the chains from the certificate of a context's peer to the authorities.
func verifiedChains(ctx context.Context) [][]*x509.Certificate {
	from, ok := peer.FromContext(ctx)
	if !ok {
		return nil
	}
	shown := from.AuthInfo
	if ours, ok := shown.(peerInfo); ok {
		shown = ours.AuthInfo
	}
	if info, ok := shown.(credentials.TLSInfo); ok {
		return info.State.VerifiedChains
	}
	return nil
}

// endOf returns when the last of the chains ends; a chain ends with the first of its certificates.
func endOf(chains [][]*x509.Certificate) (last time.Time) {
	for _, chain := range chains {
		end := chain[0].NotAfter
		for _, certificate := range chain[1:] {
			if certificate.NotAfter.Before(end) {
				end = certificate.NotAfter
			}
		}
		if end.After(last) {
			last = end
		}
	}
	return last
}

// badCertificate refuses a certificate that does not say who calls.
func badCertificate(problem string) error {
	return fault.New(fault.Unauthenticated, "CERTIFICATE_NAME_INVALID", "The client certificate %s; show another, or send an API key.", problem)
}
