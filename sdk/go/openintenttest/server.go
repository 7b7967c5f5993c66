package openintenttest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
	"openintent/sdk/go/internal/pace"
)

const (
	// within is how long assertions wait for what must happen.
	within = 5 * time.Second
	// quietFor is for how long nothing may happen until agents count as settled.
	quietFor = 150 * time.Millisecond
	// mostSteps bounds the steps of one Advance.
	mostSteps = 360
)

// Option changes how a server is started.
type Option func(*settings)

type settings struct {
	flowing   bool
	arguments []string
}

// FlowingTime lets the server's time flow by itself. Advance then fails the test.
func FlowingTime() Option { return func(s *settings) { s.flowing = true } }

// Arguments are further flags of openintent serve.
func Arguments(arguments ...string) Option {
	return func(s *settings) { s.arguments = append(s.arguments, arguments...) }
}

// Server is a server that runs for a test. Its methods fail the test if the server cannot be asked.
type Server struct {
	tb     testing.TB
	http   string
	grpc   string
	pace   *pace.Pace // nil if time flows by itself
	client *openintent.Client
}

// Start starts a server, which ends with the test.
func Start(tb testing.TB, options ...Option) *Server {
	tb.Helper()
	var wanted settings
	for _, option := range options {
		option(&wanted)
	}
	arguments := []string{"--database-url=sqlite::memory:"}
	if !wanted.flowing {
		arguments = append(arguments, "--test-clock")
	}
	started := startProgram(tb, append(arguments, wanted.arguments...))
	s := &Server{tb: tb, http: "http://" + started.http, grpc: started.grpc}
	if !wanted.flowing {
		begun, end := pace.Begin(s.grpc)
		s.pace = begun
		tb.Cleanup(end)
	}
	s.client = s.Client("")
	return s
}

// Address returns the address of gRPC, as host:port. openintent.DevelopmentKey is the key.
func (s *Server) Address() string { return s.grpc }

// URL returns the address of REST.
func (s *Server) URL() string { return s.http }

// Client returns a client that acts as an agent, or with "" as the operator. It is closed at the end of the test.
func (s *Server) Client(agent string) *openintent.Client {
	s.tb.Helper()
	client, err := openintent.Dial(openintent.Options{Server: s.grpc, APIKey: openintent.DevelopmentKey, AgentID: agent})
	if err != nil {
		s.tb.Fatal(err)
	}
	s.tb.Cleanup(func() { _ = client.Close() }) // nothing waits for it any more
	return client
}

// Intent makes an active intent that has the name of the test, or returns the one that it has made.
func (s *Server) Intent() *openintent.Intent {
	s.tb.Helper()
	intent, err := s.client.OpenIntent(s.tb.Context(), openintent.IntentOptions{Title: s.tb.Name()})
	if err != nil {
		s.tb.Fatal(err)
	}
	return intent
}

// Run runs an agent until the test ends, and returns when it receives. The test fails if an error ends the agent.
func (s *Server) Run(agent *openintent.Agent) {
	s.tb.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- agent.Run(ctx) }()
	s.tb.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			s.tb.Errorf("the agent %s ended: %v", agent.Client().AgentID(), err)
		}
	})
	for begun := time.Now(); !s.lives(agent.Client().AgentID()); s.pauseSince(begun) {
		if time.Since(begun) > startsWithin {
			s.tb.Fatalf("the agent %s does not receive within %s", agent.Client().AgentID(), startsWithin)
		}
	}
}

// Advance lets time pass: for the server, and for the clients and agents of this process, which renew what they hold and send their heartbeats on
// the way. It returns when what fell due is done.
func (s *Server) Advance(by time.Duration) {
	s.tb.Helper()
	if s.pace == nil {
		s.tb.Fatal("the time of this server flows by itself; start it without FlowingTime to move it")
	}
	for left, least := by, max(by/mostSteps, time.Millisecond); ; {
		step := left
		if wait, some := s.pace.UntilNext(); some {
			step = min(left, max(wait, least))
		}
		s.move(step)
		s.pace.Move(step)
		if left -= step; left <= 0 {
			return
		}
	}
}

// Now returns the time by the server's clock.
func (s *Server) Now() time.Time {
	s.tb.Helper()
	return s.move(0)
}

// move moves the server's clock, and returns what it shows then.
func (s *Server) move(by time.Duration) time.Time {
	s.tb.Helper()
	body, err := json.Marshal(map[string]float64{"advance_seconds": by.Seconds()})
	if err != nil {
		s.tb.Fatal(err)
	}
	request, err := http.NewRequestWithContext(s.tb.Context(), http.MethodPost, s.http+"/v1/test/clock", bytes.NewReader(body))
	if err != nil {
		s.tb.Fatal(err)
	}
	request.Header.Set("X-API-Key", openintent.DevelopmentKey)
	answer, err := direct.Do(request)
	if err != nil {
		s.tb.Fatalf("the server's clock cannot be moved: %v", err)
	}
	text, err := io.ReadAll(answer.Body)
	if closing := answer.Body.Close(); err != nil || closing != nil || answer.StatusCode != http.StatusOK {
		s.tb.Fatalf("the server's clock cannot be moved: %s %s %v %v", answer.Status, text, err, closing)
	}
	var moved struct{ Now time.Time }
	if err := json.Unmarshal(text, &moved); err != nil {
		s.tb.Fatal(err)
	}
	return moved.Now
}

// direct calls the server itself, whatever proxy the environment names.
var direct = &http.Client{Transport: &http.Transport{}}

// Settle returns when the agents that live have handled everything that has reached them: nothing waits for an acknowledgement, and that stays so for
// 0.15 seconds. The test fails after 5 seconds.
func (s *Server) Settle() {
	s.tb.Helper()
	var before []string
	begun := time.Now()
	for since := begun; ; s.pauseSince(begun) {
		if s.pace != nil {
			s.move(0) // whoever waits has looked
		}
		listed, err := s.client.Raw().Subscriptions.ListSubscriptions(s.tb.Context(), &openintentv1.ListSubscriptionsRequest{})
		if err != nil {
			s.tb.Fatal(err)
		}
		var state, waits []string
		for _, one := range listed.GetSubscriptions() {
			state = append(state, fmt.Sprint(one.GetId(), one.GetLastNumber(), one.GetAcknowledgedThrough()))
			if one.GetOutstandingCount() > 0 && s.lives(one.GetSubscriberId()) {
				waits = append(waits, one.GetSubscriberId())
			}
		}
		switch {
		case len(waits) > 0 || !slices.Equal(state, before):
			before, since = state, time.Now()
		case time.Since(since) >= quietFor:
			return
		}
		if time.Since(begun) > within {
			s.tb.Fatalf("after %s something still waits for %v", within, waits)
		}
	}
}

// lives reports whether something of an agent listens. One that has died handles nothing any more.
func (s *Server) lives(agent string) bool {
	s.tb.Helper()
	reached, err := s.client.Reach(s.tb.Context(), agent)
	if err != nil {
		s.tb.Fatal(err)
	}
	return reached.Level == openintent.ReachLive
}

// pauseSince waits before the next look of somebody who began to look at a time: for a tenth of the time since then, at least 5 ms and at most
// 50 ms.
func (s *Server) pauseSince(begun time.Time) {
	s.tb.Helper()
	select {
	case <-time.After(min(max(5*time.Millisecond, time.Since(begun)/10), 50*time.Millisecond)):
	case <-s.tb.Context().Done():
		s.tb.Fatal("the test has ended")
	}
}
