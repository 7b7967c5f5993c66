package openintenttest

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	openintent "openintent/sdk/go"
)

// Heard is a message as a scripted peer got it.
type Heard struct{ *openintent.Message }

func (h Heard) String() string {
	return fmt.Sprintf("%s on %s, %s: %s", h.Sender, h.ChannelName, h.MessageType, plain(h.Payload))
}

// Peer is an agent that does what its script says. The last line of the script counts, from the next message on. A peer without a script is
// not there.
type Peer struct {
	server *Server
	client *openintent.Client
	id     string
	role   string

	mutex sync.Mutex
	act   openintent.Handler
	heard []Heard
	came  chan struct{} // closed, and replaced, with each message
}

// Peer returns an agent, with a role if that is not empty. It joins with the first line of its script, and leaves at the end of the test.
func (s *Server) Peer(agent, role string) *Peer {
	s.tb.Helper()
	return &Peer{server: s, id: agent, role: role, came: make(chan struct{})}
}

// Answers answers every request with a payload.
func (p *Peer) Answers(payload any) *Peer {
	p.server.tb.Helper()
	return p.Does(func(_ context.Context, message *openintent.Message) (any, error) {
		if message.MessageType != openintent.Request {
			return nil, nil
		}
		return payload, nil
	})
}

// StaysSilent receives everything, and answers nothing.
func (p *Peer) StaysSilent() *Peer {
	p.server.tb.Helper()
	return p.Does(func(context.Context, *openintent.Message) (any, error) { return nil, nil })
}

// AnswersAfter answers every request when the test has let so much time pass since it came.
func (p *Peer) AnswersAfter(wait time.Duration, payload any) *Peer {
	p.server.tb.Helper()
	return p.Does(func(ctx context.Context, message *openintent.Message) (any, error) {
		switch {
		case message.MessageType != openintent.Request:
			return nil, nil
		case p.server.pace == nil:
			return nil, fmt.Errorf("%s answers when the test moves time, and this server's time flows by itself", p.id)
		}
		work := p.server.pace.Work()
		defer work.End()
		if err := work.Until(ctx, work.Now().Add(wait)); err != nil {
			return nil, err
		}
		_, err := message.Reply(ctx, payload)
		return nil, err
	})
}

// AnswersTwice answers every request twice.
func (p *Peer) AnswersTwice(first, second any) *Peer {
	p.server.tb.Helper()
	return p.Does(func(ctx context.Context, message *openintent.Message) (any, error) {
		if message.MessageType != openintent.Request {
			return nil, nil
		}
		if _, err := message.Reply(ctx, first); err != nil {
			return nil, err
		}
		return second, nil
	})
}

// ClaimsAndDies claims the first message that comes and dies: its connection ends, it renews nothing, and the server hears nothing more of
// it.
func (p *Peer) ClaimsAndDies(ttl time.Duration) *Peer {
	p.server.tb.Helper()
	return p.Does(func(ctx context.Context, message *openintent.Message) (any, error) {
		if !exact(message) { // a request that takes a certain number of answers is claimed already
			if _, err := message.Claim(ctx, openintent.ClaimOptions{TTL: ttl}); err != nil {
				return nil, err
			}
		}
		_ = p.client.Close() // it dies
		return nil, nil
	})
}

// exact reports whether only holders of claims may answer a message.
func exact(message *openintent.Message) bool {
	anyNumber := slices.Contains([]openintent.Collect{"", openintent.CollectAny, openintent.CollectAll}, message.Collect)
	return message.MessageType == openintent.Request && strings.HasPrefix(message.To, "role:") && !anyNumber
}

// Does calls a handler with each message. What it returns is the answer.
func (p *Peer) Does(act openintent.Handler) *Peer {
	p.server.tb.Helper()
	p.mutex.Lock()
	started := p.act != nil
	p.act = act
	p.mutex.Unlock()
	if !started {
		p.start()
	}
	return p
}

// start joins, and returns when the peer receives.
func (p *Peer) start() {
	tb := p.server.tb
	tb.Helper()
	p.client = p.server.Client(p.id)
	ready := make(chan struct{})
	agent := p.client.Agent(openintent.AgentOptions{
		ID: p.id, Role: p.role, Ready: func() { close(ready) }, Drain: time.Millisecond, Log: slog.New(slog.DiscardHandler),
	})
	agent.OnMessage("", p.take)
	ctx, stop := context.WithCancel(context.Background())
	var why error // set before ended is closed; a peer that dies ends with an error, too
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		why = agent.Run(ctx)
	}()
	tb.Cleanup(func() {
		stop()
		<-ended
	})
	select {
	case <-ready:
	case <-ended:
		tb.Fatalf("the peer %s did not start: %v", p.id, why)
	case <-time.After(startsWithin):
		tb.Fatalf("the peer %s did not start within %s", p.id, startsWithin)
	}
}

func (p *Peer) take(ctx context.Context, message *openintent.Message) (any, error) {
	p.mutex.Lock()
	act := p.act
	p.heard = append(p.heard, Heard{message})
	close(p.came)
	p.came = make(chan struct{})
	p.mutex.Unlock()
	return act(ctx, message)
}

// Heard lists what has reached the peer, in order.
func (p *Peer) Heard() []Heard {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return slices.Clone(p.heard)
}

// AssertHeard waits, at most for 5 seconds, until a message reaches the peer that a function wants, and returns it; nil wants any. Otherwise the
// test ends, with what has reached the peer instead.
func (p *Peer) AssertHeard(wanted func(Heard) bool) Heard {
	p.server.tb.Helper()
	late := time.After(within)
	for {
		p.mutex.Lock()
		heard, came := slices.Clone(p.heard), p.came
		p.mutex.Unlock()
		for _, one := range heard {
			if wanted == nil || wanted(one) {
				return one
			}
		}
		select {
		case <-came:
		case <-late:
			p.server.tb.Fatalf("%s did not hear what the test waits for. It heard:\n%s", p.id, listed(heard))
		}
	}
}
