package oidc

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// Config says whose tokens are accepted.
type Config struct {
	// Issuer is the issuer's URL, exactly as its tokens have it. It must pass CheckURL.
	Issuer string
	// Audience must be among the audiences of a token.
	Audience string
	// Skew is how far the issuer's clock may differ from ours.
	Skew time.Duration
	// Now is our clock.
	Now func() time.Time
	// Logger tells when the issuer cannot be reached, and when it can be again.
	Logger *slog.Logger
}

// Issuer checks the tokens of one issuer. Its methods may be called at the same time.
type Issuer struct {
	cfg     Config
	client  *http.Client
	fetches *fetches
	// known is what the issuer published last; nil until that is known.
	known atomic.Pointer[published]
	// failing is true while the last fetch has failed, and fetchedAt is when the last one that succeeded began.
	failing   atomic.Bool
	fetchedAt atomic.Int64
}

// New makes an issuer whose keys are not known yet. Refresh fetches them, and so does the first token that needs them.
func New(cfg Config) *Issuer {
	i := &Issuer{cfg: cfg, client: newClient()}
	i.fetches = newFetches(i.fetch, cfg.Now)
	return i
}

// refreshEvery is how old the issuer's keys may become before they are fetched again.
const refreshEvery = 5 * time.Minute

// Refresh fetches the issuer's keys if it is time to. It is meant to be called every second or so.
func (i *Issuer) Refresh(ctx context.Context) error {
	age := i.cfg.Now().Sub(time.UnixMicro(i.fetchedAt.Load()))
	if i.known.Load() == nil || i.failing.Load() || age < 0 || age >= refreshEvery {
		i.fetches.join(ctx)
	}
	return nil
}

// Stop ends a fetch under way and waits for its end.
func (i *Issuer) Stop() { i.fetches.stop() }

// CheckURL refuses an issuer's URL that cannot be trusted to lead to the issuer. Its errors are ends of a sentence that begins with
// the setting's name.
func CheckURL(issuer string) error {
	location, err := url.Parse(issuer)
	switch {
	case err != nil || location.Host == "" || location.User != nil:
		return errors.New("must be the issuer's URL, such as https://id.example.com")
	case location.RawQuery != "" || location.Fragment != "" || strings.Contains(issuer, "#"):
		return errors.New("must be a URL without a query and without a fragment")
	case !trustworthy(location):
		return errors.New("must begin with https://; only an issuer on this machine may do without TLS")
	}
	return nil
}

// trustworthy reports whether nobody between us and a URL's host can answer in its place.
func trustworthy(location *url.URL) bool {
	switch location.Scheme {
	case "https":
		return true
	case "http":
		return isLoopback(location.Hostname())
	}
	return false
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// newClient makes the client for an issuer. It follows no redirects, because the answer must come from where the operator or the
// issuer said, and it keeps no connections, because it needs one every few minutes.
func newClient() *http.Client {
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{}).DialContext,
			ForceAttemptHTTP2:      true,
			DisableKeepAlives:      true,
			MaxResponseHeaderBytes: maxDocumentBytes,
		},
	}
}
