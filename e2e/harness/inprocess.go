package harness

import (
	"context"
	"errors"
	"testing"
	"time"

	"openintent/server"
)

// inProcess runs the server in a goroutine of the test's process.
type inProcess struct {
	cfg    server.Config
	cancel context.CancelFunc
	ended  chan error // nil while it does not run
}

func (p *inProcess) start(tb testing.TB, log *log) server.Addresses {
	tb.Helper()
	cfg := p.cfg
	cfg.Log = log
	ctx, cancel := context.WithCancel(context.Background())
	ready := make(chan server.Addresses, 1)
	ended := make(chan error, 1)
	go func() {
		ended <- server.Run(ctx, cfg, func(addresses server.Addresses) { ready <- addresses })
	}()
	select {
	case addresses := <-ready:
		p.cancel, p.ended = cancel, ended
		return addresses
	case err := <-ended:
		cancel()
		tb.Fatalf("the server did not start: %v", err)
	case <-time.After(Patience):
		cancel()
		tb.Fatal("the server did not start in time")
	}
	return server.Addresses{}
}

func (p *inProcess) stop() error {
	if p.ended == nil {
		return nil
	}
	ended := p.ended
	p.ended = nil
	p.cancel()
	select {
	case err := <-ended:
		return err
	case <-time.After(Patience):
		return errors.New("the server did not stop in time")
	}
}

func (p *inProcess) kill() {
	panic("a server within the test's process cannot be killed; use StartProcess")
}
