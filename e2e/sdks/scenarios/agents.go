package scenarios

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	openintent "openintent/sdk/go"
)

// agent is a running agent of the SDK's runtime.
type agent struct {
	runtime *openintent.Agent
	cancel  context.CancelFunc
	ended   chan error // receives the result of its run, once
}

// stop ends the agent as a leave does, and waits for its end.
func (a *agent) stop() error {
	a.cancel()
	if a.ended == nil {
		return nil
	}
	ended := a.ended
	a.ended = nil
	select {
	case err := <-ended:
		return err
	case <-time.After(patience):
		return errors.New("it did not stop in time")
	}
}

// startAgent starts an agent whose names are as in the file, and waits until it receives messages.
func (s *story) startAgent(facts AgentFacts) error {
	id := s.unique(facts.ID)
	ready := make(chan struct{})
	runtime := s.client(id).Agent(openintent.AgentOptions{
		ID: id, Role: s.unique(facts.Role), Concurrency: facts.Concurrency, Ready: func() { close(ready) },
		Attention: facts.Attention, SkipUnaddressed: facts.SkipUnaddressed, Drain: seconds(facts.Drain),
		Compose: facts.Compose, Digest: seconds(facts.DigestSeconds), MaxChars: facts.MaxChars,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	for _, handler := range facts.Handlers {
		if handler.Digest {
			runtime.OnDigest(func(_ context.Context, digest *openintent.Digest) error {
				s.change(func() { s.digests[facts.name()] = append(s.digests[facts.name()], digest) })
				return nil
			})
			continue
		}
		if handler.Obligation {
			runtime.OnObligation(s.handler(facts.ID, runtime, handler))
			continue
		}
		if handler.Mention {
			runtime.OnMention(s.handler(facts.name(), runtime, handler))
			continue
		}
		runtime.OnMessage(handler.Channel, s.handler(facts.name(), runtime, handler))
	}
	ctx, cancel := context.WithCancel(s.ctx)
	ended := make(chan error, 1)
	go func() { ended <- runtime.Run(ctx) }()
	started := &agent{runtime: runtime, cancel: cancel, ended: ended}
	s.agents[facts.name()] = started
	select {
	case <-ready:
		return nil
	case err := <-ended:
		started.ended = nil
		return fmt.Errorf("it ended with %w", err)
	case <-time.After(patience):
		return errors.New("it did not start in time")
	}
}

// handler returns a handler that does what the file describes, and counts the messages.
func (s *story) handler(name string, runtime *openintent.Agent, facts HandlerFacts) openintent.Handler {
	return func(ctx context.Context, message *openintent.Message) (any, error) {
		s.noteHandled(name, message)
		if facts.Gate != "" {
			select {
			case <-s.gate(facts.Gate):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		if facts.Note != "" {
			if err := runtime.SetStatusNote(facts.Note); err != nil {
				return nil, err
			}
		}
		switch {
		case facts.Fail != "":
			return nil, errors.New(facts.Fail)
		case facts.Attempt:
			return map[string]any{"attempt": message.Attempt}, nil
		case facts.Echo:
			return map[string]any{"echo": message.Payload}, nil
		case facts.Ask != nil:
			channel, err := runtime.Client().Open(ctx, message.IntentID, facts.Ask.Channel, openintent.ChannelOptions{})
			if err != nil {
				return nil, err
			}
			answer, err := channel.Ask(ctx, s.unique(facts.Ask.To), facts.Ask.Payload)
			if err != nil {
				return nil, err
			}
			return answer.Payload, nil
		case facts.MessageReply != nil:
			_, err := message.Reply(ctx, facts.MessageReply)
			return nil, err
		}
		return facts.Reply, nil // nil means no answer
	}
}

// gate returns the channel that is closed when a gate opens.
func (s *story) gate(name string) chan struct{} {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.gates[name] == nil {
		s.gates[name] = make(chan struct{})
	}
	return s.gates[name]
}

// following is a channel that an agent follows in the background.
type following struct {
	end      func()
	messages []any
	ended    bool
	err      error
}

// follow begins to follow and returns when the server has accepted it.
func (s *story) follow(name string, channel *openintent.Channel) error {
	ctx, cancel := context.WithCancel(s.ctx)
	accepted, err := channel.Follow(ctx, openintent.FollowOptions{})
	if err != nil {
		cancel()
		return err
	}
	f := &following{end: cancel}
	s.following[name] = f
	go func() {
		for message, err := range accepted.Messages() {
			s.change(func() {
				if f.err = err; err == nil {
					f.messages = append(f.messages, messageFacts(message))
				}
			})
		}
		s.change(func() { f.ended = true })
	}()
	return nil
}
