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

	// Posts to all endpoints are bounded so that connections do not run out. Those whose last post failed, and those that have
	// never answered, have places of their own: however many of them hang, those that work find theirs.
	workingPlaces = 512
	failingPlaces = 256

	defaultTimeout = 15 * time.Second
	// keptEndpoints bounds for how many endpoints circuits are kept.
	keptEndpoints = 10_000

	dialTimeout        = 5 * time.Second
	headersTimeout     = 10 * time.Second
	idleTimeout        = 30 * time.Second
	maxIdleConnections = 256
	maxHeaderBytes     = 16 << 10
)

// Config is what a Sender needs; the zero value serves.
type Config struct {
	// AllowedNetworks may be posted to although they are reserved: comma-separated, as 10.1.0.0/16.
	AllowedNetworks string
	// Version is the program's, for the User-Agent.
	Version string
	// Timeout bounds one post; 15 seconds when zero.
	Timeout time.Duration
	// Now gives the time, for circuits and dates in answers; the machine's when nil.
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
	// working and failing hold a token for each post under way.
	working, failing chan struct{}
}

// endpoint is what is shared by all posts to one URL.
type endpoint struct {
	places  chan struct{}
	circuit circuit
}

// New makes a Sender. The error is a refusal of the allowed networks, a sentence for the operator.
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

// newTransport makes what carries the posts. Proxy stays nil on purpose: a proxy would connect for us, behind the guard.
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

// Close gives back what is kept for further posts. Posts that are under way are not disturbed.
func (s *Sender) Close() { s.transport.CloseIdleConnections() }

// Held tells how long posts to a URL's endpoint would come back Held; 0 when one may be tried. It spares the caller the
// making of a post that would not be made.
func (s *Sender) Held(rawURL string) time.Duration {
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

// Endpoint names what URLs lead to, the same for different spellings. URLs that Check refuses share the empty one.
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
		s.endpoints.Get(name) // used just now
		return known
	}
	return fresh
}

// enter waits for a place at the endpoint and among all posts. leave gives both back; entered is false when the context
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
