package webhooks

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	// Concurrency is how many posts to one endpoint are under way at most.
	Concurrency = 4

	// These bound the posts to all endpoints together, so that connections do not run out. Endpoints whose last post failed, and
	// endpoints that have never answered, use separate places. So however many of these hang, working endpoints find a place.
	workingPlaces = 512
	failingPlaces = 256

	defaultTimeout = 15 * time.Second
	// keptEndpoints bounds the number of endpoints with a circuit in memory.
	keptEndpoints = 10_000

	dialTimeout        = 5 * time.Second
	headersTimeout     = 10 * time.Second
	idleTimeout        = 30 * time.Second
	maxIdleConnections = 256
	maxHeaderBytes     = 16 << 10
)

// Config is what a Sender needs; the zero value is usable.
type Config struct {
	// AllowedNetworks lists reserved networks that posts may go to nevertheless: comma-separated, as 10.1.0.0/16.
	AllowedNetworks string
	// Version is the program's version, for the User-Agent.
	Version string
	// Timeout bounds one post; 15 seconds when zero.
	Timeout time.Duration
	// Now returns the time, for circuits and dates in answers; nil means the machine's clock.
	Now func() time.Time
}

// Sender posts webhooks. Make it with New; it is safe for concurrent use.
type Sender struct {
	guard     guard
	userAgent string
	timeout   time.Duration
	now       func() time.Time
	transport *http.Transport
	endpoints *lru.Cache[string, *endpoint]
	// working and failing contain one token for each post under way.
	working, failing chan struct{}
}

// endpoint is the state that all posts to one URL share.
type endpoint struct {
	places  chan struct{}
	circuit circuit
}

// New makes a Sender. Its error refuses the allowed networks, with a sentence for the operator.
func New(cfg Config) (*Sender, error) {
	guard, err := newGuard(cfg.AllowedNetworks)
	if err != nil {
		return nil, err
	}
	s := &Sender{
		guard: guard, userAgent: "openintent/" + cfg.Version, timeout: cfg.Timeout, now: cfg.Now,
		working: make(chan struct{}, workingPlaces), failing: make(chan struct{}, failingPlaces),
	}
	if cfg.Version == "" {
		s.userAgent += "devel"
	}
	if s.timeout == 0 {
		s.timeout = defaultTimeout
	}
	if s.now == nil {
		s.now = time.Now
	}
	s.endpoints, err = lru.New[string, *endpoint](keptEndpoints)
	if err != nil {
		return nil, fmt.Errorf("keeping endpoints: %w", err)
	}
	s.transport = s.newTransport((&net.Dialer{
		Timeout: min(dialTimeout, s.timeout), Control: guard.control,
	}).DialContext)
	return s, nil
}

// newTransport makes the transport for the posts. Proxy stays nil on purpose: a proxy would make the connections itself, and the
// guard would not see their addresses.
func (s *Sender) newTransport(dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		DialContext:            dial,
		Protocols:              protocols,
		TLSHandshakeTimeout:    min(dialTimeout, s.timeout),
		ResponseHeaderTimeout:  min(headersTimeout, s.timeout),
		IdleConnTimeout:        idleTimeout,
		MaxIdleConns:           maxIdleConnections,
		MaxIdleConnsPerHost:    Concurrency,
		MaxResponseHeaderBytes: maxHeaderBytes,
		DisableCompression:     true,
	}
}

// Close closes idle connections. It does not disturb posts that are under way.
func (s *Sender) Close() { s.transport.CloseIdleConnections() }

// Resting returns how long posts to a URL's endpoint would return as PutOff; 0 means that a post may be tried. It saves the caller
// from preparing a post that would not be sent.
func (s *Sender) Resting(rawURL string) time.Duration {
	parsed, err := s.parse(rawURL)
	if err != nil {
		return 0
	}
	endpoint, known := s.endpoints.Get(endpointOf(parsed))
	if !known {
		return 0
	}
	return endpoint.circuit.waiting(s.now())
}

// Endpoint returns the name of a URL's endpoint, which is the same for different spellings of the URL. It is empty for URLs
// that Check refuses.
func (s *Sender) Endpoint(rawURL string) string {
	parsed, err := s.parse(rawURL)
	if err != nil {
		return ""
	}
	return endpointOf(parsed)
}

func (s *Sender) endpoint(name string) *endpoint {
	fresh := &endpoint{places: make(chan struct{}, Concurrency)}
	if known, found, _ := s.endpoints.PeekOrAdd(name, fresh); found {
		s.endpoints.Get(name) // marks it as recently used
		return known
	}
	return fresh
}

// enter waits for a place at the endpoint and a place among all posts. leave frees both places; entered is false if the context
// ended first.
func (s *Sender) enter(ctx context.Context, endpoint *endpoint) (leave func(), entered bool) {
	if !take(ctx, endpoint.places) {
		return nil, false
	}
	all := s.failing
	if endpoint.circuit.working() {
		all = s.working
	}
	if !take(ctx, all) {
		<-endpoint.places
		return nil, false
	}
	return func() {
		<-all
		<-endpoint.places
	}, true
}

func take(ctx context.Context, places chan<- struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}
