package sdks

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"

	"openintent/database"
	"openintent/database/databasetest"
	"openintent/e2e/harness"
)

// Stage is what a suite of an SDK runs on.
type Stage struct {
	engine   database.Engine
	replicas []*harness.Server
	// lines lead to the replicas, by addresses that stay when one restarts.
	lines   []*harness.Line
	control string
}

// StartStage starts a server on SQLite, or two replicas on PostgreSQL, and the control of the first, until the test ends.
func StartStage(tb testing.TB, engine database.Engine) *Stage {
	tb.Helper()
	s := &Stage{engine: engine}
	replicas := 1
	if engine == database.PostgreSQL {
		replicas = 2
	}
	url := databasetest.URL(tb, engine)
	for range replicas {
		replica := harness.StartProcess(tb, harness.Options{URL: url})
		s.replicas = append(s.replicas, replica)
		s.lines = append(s.lines, replica.Line(tb))
	}
	s.control = startControl(tb, s.replicas[0])
	return s
}

// Environment is what a suite finds in its environment, as NAME=value.
func (s *Stage) Environment() []string {
	first, last := s.lines[0], s.lines[len(s.lines)-1]
	return []string{
		"OPENINTENT_SERVER=" + first.GRPCAddress(),
		"OPENINTENT_REPLICA=" + last.GRPCAddress(),
		"OPENINTENT_URL=" + first.BaseURL(),
		"OPENINTENT_API_KEY=" + harness.Key,
		"OPENINTENT_CONTROL=" + s.control,
		"OPENINTENT_ENGINE=" + s.engine.String(),
		// A suite's own calls say who they are.
		"OPENINTENT_AGENT_ID=",
		"OPENINTENT_TLS=",
	}
}

// startControl serves POST /restart and POST /kill, one after the other, and gives its base URL.
func startControl(tb testing.TB, server *harness.Server) string {
	tb.Helper()
	var mutex sync.Mutex
	again := func(end func() error) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			mutex.Lock()
			defer mutex.Unlock()
			if err := end(); err != nil {
				tb.Errorf("stopping the server: %v", err)
			}
			server.Start(tb)
			w.WriteHeader(http.StatusNoContent)
		}
	}
	routes := http.NewServeMux()
	routes.Handle("POST /restart", again(server.Stop))
	routes.Handle("POST /kill", again(func() error {
		server.Kill()
		return nil
	}))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	control := &http.Server{Handler: routes}
	var running sync.WaitGroup
	running.Go(func() { _ = control.Serve(listener) })
	tb.Cleanup(func() {
		_ = control.Shutdown(context.Background())
		running.Wait()
	})
	return "http://" + listener.Addr().String()
}
