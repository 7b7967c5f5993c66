package sdks

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"openintent/e2e/harness"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// Stage is the environment in which an SDK's suite runs.
type Stage struct {
	engine   database.Engine
	replicas []*harness.Server
	// first and last are lines to the replicas; their addresses stay the same when a replica restarts.
	first, last *harness.Line
	control     string

	// behind is the replica to which the first address leads.
	behind atomic.Pointer[harness.Server]
}

// StartStage starts a server on SQLite or two replicas on PostgreSQL, and their control endpoint, until the test
// ends.
func StartStage(tb testing.TB, engine database.Engine) *Stage {
	tb.Helper()
	s := &Stage{engine: engine}
	replicas := 1
	if engine == database.PostgreSQL {
		replicas = 2
	}
	url := databasetest.URL(tb, engine)
	for range replicas {
		s.replicas = append(s.replicas, harness.StartProcess(tb, harness.Options{URL: url}))
	}
	s.behind.Store(s.replicas[0])
	s.first = harness.LineTo(tb, s.behind.Load)
	s.last = s.first
	if replicas > 1 {
		s.last = s.replicas[1].Line(tb)
	}
	s.startControl(tb)
	return s
}

// Environment returns what a suite finds in its environment, as NAME=value.
func (s *Stage) Environment() []string {
	return []string{
		"OPENINTENT_SERVER=" + s.first.GRPCAddress(),
		"OPENINTENT_REPLICA=" + s.last.GRPCAddress(),
		"OPENINTENT_URL=" + s.first.BaseURL(),
		"OPENINTENT_API_KEY=" + harness.Key,
		"OPENINTENT_CONTROL=" + s.control,
		"OPENINTENT_ENGINE=" + s.engine.String(),
		// A suite's calls name their agents themselves.
		"OPENINTENT_AGENT_ID=",
		"OPENINTENT_TLS=",
	}
}

// ShowLogs prints what matters of the servers' logs. Call it before the output of a suite that failed, which then comes last.
func (s *Stage) ShowLogs(tb testing.TB) {
	tb.Helper()
	for _, replica := range s.replicas {
		replica.ShowLog(tb)
	}
}

// startControl serves POST /restart, /kill and /move, one after the other.
func (s *Stage) startControl(tb testing.TB) {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s.control = "http://" + listener.Addr().String()
	var mutex sync.Mutex
	routes := http.NewServeMux()
	for path, do := range map[string]func(){
		"/restart": func() {
			if err := s.replicas[0].Stop(); err != nil {
				tb.Errorf("stopping the server: %v", err)
			}
			s.replicas[0].Start(tb)
		},
		"/kill": func() {
			s.replicas[0].Kill()
			s.replicas[0].Start(tb)
		},
		"/move": func() {
			if !s.behind.CompareAndSwap(s.replicas[0], s.replicas[len(s.replicas)-1]) {
				s.behind.Store(s.replicas[0])
			}
			s.first.Cut()
		},
	} {
		routes.HandleFunc("POST "+path, func(w http.ResponseWriter, _ *http.Request) {
			mutex.Lock()
			defer mutex.Unlock()
			do()
			w.WriteHeader(http.StatusNoContent)
		})
	}
	control := &http.Server{Handler: routes}
	var running sync.WaitGroup
	running.Go(func() { _ = control.Serve(listener) })
	tb.Cleanup(func() {
		_ = control.Shutdown(context.Background())
		running.Wait()
	})
}
