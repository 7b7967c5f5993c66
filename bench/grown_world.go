package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
)

const (
	// everywhere is an agent in all intents, and unreading one with grownUnread unread messages.
	everywhere, unreading = "bench-everywhere", "bench-unreading"
	grownUnread           = 1_000
	// grownPage is the page of an inbox and of a thread below its first message.
	grownPage = 50
	// busyIntents is how many intents get most of the messages, and endedIntents how many of them end: an eighth of eight tenths.
	busyIntents, endedIntents = 200, 25
	// fewestReaders is how many agents receive messages, at least.
	fewestReaders = 100
	// intentsAtOnce is after how many new intents a run says how far it has come.
	intentsAtOnce = 10_000
)

// grownWorld is a server whose database is filled, and what is measured in it.
type grownWorld struct {
	*target
	run       *grownRun
	engine    string
	processes func() []int // the database's, if it has processes
	// ordinary and longest are channels with a thread each, whose first messages are theirs; unread is a channel for what agents receive.
	ordinary, longest, unread     string
	ordinaryThread, longestThread string
	// ids and channels are those of the intents that are filled; the first ones, which are there from the beginning, become busy.
	ids, channels []string
	perBusy       int
	sends         int // those that were measured
	messages      openintentv1.MessageServiceClient
	intents       openintentv1.IntentServiceClient
}

// begin starts a server and stores in it what is measured.
func (g *grownRun) begin(ctx context.Context, engine, url string) (*grownWorld, error) {
	w := &grownWorld{run: g, engine: engine, processes: func() []int { return nil }}
	if engine == "postgres" {
		var err error
		if w.processes, err = postgresProcesses(ctx, url); err != nil {
			return nil, err
		}
	}
	if err := w.restart(ctx, url); err != nil {
		return nil, err
	}
	if err := w.prepare(ctx); err != nil {
		w.stop()
		return nil, err
	}
	return w, nil
}

// restart lets the world go on with a new server.
func (w *grownWorld) restart(ctx context.Context, url string, environment ...string) (err error) {
	if w.target, err = startReplica(ctx, url, environment...); err != nil {
		return err
	}
	w.messages = openintentv1.NewMessageServiceClient(w.conn)
	w.intents = openintentv1.NewIntentServiceClient(w.conn)
	return nil
}

func (w *grownWorld) prepare(ctx context.Context) error {
	w.ids, w.channels = make([]string, w.run.size.intents), make([]string, w.run.size.intents)
	if err := w.newIntents(ctx, 0, busyIntents); err != nil {
		return err
	}
	for _, into := range []*string{&w.ordinary, &w.longest, &w.unread} {
		_, channel, err := w.newIntent(ctx)
		if err != nil {
			return err
		}
		*into = channel
	}
	for channel, first := range map[string]*string{w.ordinary: &w.ordinaryThread, w.longest: &w.longestThread} {
		root, err := w.messages.SendMessage(as(ctx, asker), grownMessage(channel, "*", 0))
		if err != nil {
			return err
		}
		*first = root.GetId()
		for n := range grownPage {
			reply := grownMessage(channel, "*", n)
			reply.ParentId = proto.String(root.GetId())
			if _, err := w.messages.SendMessage(as(ctx, asker), reply); err != nil {
				return err
			}
		}
	}
	return w.sendAll(ctx, grownUnread+grownPage, func(n int) *openintentv1.SendMessageRequest {
		to := unreading
		if n >= grownUnread {
			to = everywhere
		}
		return grownMessage(w.unread, to, n)
	})
}

// newIntents makes those of the intents that are filled from one number up to another one.
func (w *grownWorld) newIntents(ctx context.Context, from, to int) error {
	return inParallel(to-from, func(i int) (err error) {
		w.ids[from+i], w.channels[from+i], err = w.newIntent(ctx)
		return err
	})
}

// newIntent makes an intent with a channel. The agent that is everywhere takes part in it.
func (w *grownWorld) newIntent(ctx context.Context) (intent, channel string, err error) {
	ctx = as(ctx, asker)
	made, err := w.intents.CreateIntent(ctx, &openintentv1.CreateIntentRequest{
		Title: "bench", Status: openintentv1.IntentStatus_INTENT_STATUS_ACTIVE.Enum(),
	})
	if err != nil {
		return "", "", err
	}
	_, err = w.intents.AssignAgent(ctx, &openintentv1.AssignAgentRequest{IntentId: made.GetId(), AgentId: everywhere})
	if err != nil {
		return "", "", err
	}
	request := keeping()
	request.IntentId, request.Name = made.GetId(), "bench"
	opened, err := openintentv1.NewChannelServiceClient(w.conn).CreateChannel(ctx, request)
	return made.GetId(), opened.GetId(), err
}

func grownReader(n int) string { return "bench-reader-" + strconv.Itoa(n) }

func grownMessage(channel, to string, n int) *openintentv1.SendMessageRequest {
	kind := openintentv1.MessageType_MESSAGE_TYPE_NOTIFY
	if to == "*" {
		kind = openintentv1.MessageType_MESSAGE_TYPE_BROADCAST
	}
	return &openintentv1.SendMessageRequest{
		ChannelId: channel, To: &to, MessageType: &kind,
		Payload: &structpb.Struct{Fields: map[string]*structpb.Value{"text": structpb.NewStringValue("the row " + strconv.Itoa(n) + " is done")}},
	}
}

// fill fills the database: a tenth of the messages goes to all intents in turn, a tenth to the longest channel, and the rest to the busy
// intents in turn.
func (w *grownWorld) fill(ctx context.Context) error {
	size := w.run.size
	for from := busyIntents; from < size.intents; from += intentsAtOnce {
		w.run.say("%s: making intents, %d of %d", w.engine, from, size.intents)
		if err := w.newIntents(ctx, from, min(from+intentsAtOnce, size.intents)); err != nil {
			return err
		}
	}
	readers := max(fewestReaders, size.messages/1_000)
	for _, part := range []struct {
		name     string
		messages int
		channels []string
	}{
		{"all intents", size.messages / 10, w.channels},
		{"the longest channel", size.messages / 10, []string{w.longest}},
		{"busy intents", size.messages * 8 / 10, w.channels[:busyIntents]},
	} {
		w.run.say("%s: sending %d messages to %s", w.engine, part.messages, part.name)
		err := w.sendAll(ctx, part.messages, func(n int) *openintentv1.SendMessageRequest {
			return grownMessage(part.channels[n%len(part.channels)], grownReader(n%readers), n)
		})
		if err != nil {
			return err
		}
	}
	w.perBusy = size.messages * 8 / 10 / busyIntents
	return nil
}

// sendAll sends messages on a few streams that do not wait for each answer.
func (w *grownWorld) sendAll(ctx context.Context, count int, message func(n int) *openintentv1.SendMessageRequest) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failures := make(chan error, loadStreams)
	var streams sync.WaitGroup
	for i := range loadStreams {
		streams.Go(func() {
			if err := w.sendShare(ctx, i, count, message); err != nil {
				failures <- err
				cancel()
			}
		})
	}
	streams.Wait()
	close(failures)
	return <-failures
}

// sendShare sends one stream's share.
func (w *grownWorld) sendShare(
	ctx context.Context, stream, count int, message func(n int) *openintentv1.SendMessageRequest,
) error {
	calls, err := w.messages.SendMessages(as(ctx, asker))
	if err != nil {
		return err
	}
	window := make(chan struct{}, loadWindow)
	go func() {
		defer close(window)
		for n := stream; n < count; n += loadStreams {
			select {
			case window <- struct{}{}:
			case <-ctx.Done():
				return
			}
			if calls.Send(message(n)) != nil {
				return // the receiving side reports why
			}
		}
		_ = calls.CloseSend()
	}()
	for range window {
		answer, err := calls.Recv()
		if err != nil {
			return err
		}
		if answer.GetRefusal() != nil {
			return fmt.Errorf("a message was refused: %v", answer.GetRefusal())
		}
	}
	return ctx.Err()
}
