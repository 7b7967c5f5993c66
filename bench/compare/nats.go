package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// serveNATS serves until the standard input ends, and prints its address on its first line of output.
func serveNATS(directory string, syncAlways bool) error {
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true,
		JetStream: true, StoreDir: directory, SyncAlways: syncAlways,
	})
	if err != nil {
		return err
	}
	s.Start()
	defer s.WaitForShutdown()
	defer s.Shutdown()
	if !s.ReadyForConnections(10 * time.Second) {
		return errors.New("the server did not start")
	}
	if err := json.NewEncoder(os.Stdout).Encode(map[string]string{"Address": s.ClientURL()}); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// connect opens a connection that ends with the context.
func connect(ctx context.Context, address string) (*nats.Conn, error) {
	conn, err := nats.Connect(address)
	if err == nil {
		context.AfterFunc(ctx, conn.Close)
	}
	return conn, err
}

// openStream returns an empty stream on file storage, so that the messages of earlier jobs do not slow down the next
// one.
func openStream(ctx context.Context, conn *nats.Conn, name string) (jetstream.JetStream, error) {
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, err
	}
	stream, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: name, Subjects: []string{name + ".>"}, Storage: jetstream.FileStorage,
	})
	if err != nil {
		return nil, err
	}
	return js, stream.Purge(ctx)
}

// publisher publishes to subjects in turn; JetStream acknowledges each message.
func publisher(ctx context.Context, j job) (worker, error) {
	conn, err := connect(ctx, j.Address)
	if err != nil {
		return nil, err
	}
	js, err := openStream(ctx, conn, "channels")
	return func(ctx context.Context, n int) error {
		_, err := js.Publish(ctx, "channels."+strconv.Itoa(n%j.Channels), payload)
		return err
	}, err
}

// asyncPublisher hands messages to JetStream's client, which publishes them without waiting; each caller waits for its acknowledgement.
func asyncPublisher(ctx context.Context, j job) (worker, error) {
	conn, err := connect(ctx, j.Address)
	if err != nil {
		return nil, err
	}
	js, err := openStream(ctx, conn, "channels")
	return func(ctx context.Context, n int) error {
		published, err := js.PublishAsync("channels."+strconv.Itoa(n%j.Channels), payload)
		if err != nil {
			return err
		}
		select {
		case <-published.Ok():
			return nil
		case err := <-published.Err():
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}, err
}

// requester uses NATS's own request and reply.
func requester(ctx context.Context, j job) (worker, error) {
	conn, err := connect(ctx, j.Address)
	if err != nil {
		return nil, err
	}
	responder, err := connect(ctx, j.Address)
	if err != nil {
		return nil, err
	}
	_, err = responder.Subscribe("bare", func(request *nats.Msg) { _ = request.Respond(payload) })
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, _ int) error {
		_, err := conn.RequestWithContext(ctx, "bare", payload)
		return err
	}, responder.Flush()
}

const (
	requests  = "asks.request."
	responses = "asks.response."
)

// asker stores requests and their responses; both are delivered from the stream.
func asker(ctx context.Context, j job) (worker, error) {
	conn, err := connect(ctx, j.Address)
	if err != nil {
		return nil, err
	}
	js, err := openStream(ctx, conn, "asks")
	if err != nil {
		return nil, err
	}
	var waiting sync.Map // number of the request -> chan struct{}
	if err := receive(ctx, conn, js, responses, func(number string) {
		if answered, ok := waiting.LoadAndDelete(number); ok {
			close(answered.(chan struct{}))
		}
	}); err != nil {
		return nil, err
	}
	responder, err := connect(ctx, j.Address)
	if err != nil {
		return nil, err
	}
	replies, err := jetstream.New(responder)
	if err != nil {
		return nil, err
	}
	err = receive(ctx, responder, replies, requests, func(number string) {
		go func() { _, _ = replies.Publish(ctx, responses+number, payload) }()
	})
	return func(ctx context.Context, n int) error {
		number, answered := strconv.Itoa(n), make(chan struct{})
		waiting.Store(number, answered)
		if _, err := js.Publish(ctx, requests+number, payload); err != nil {
			return err
		}
		select {
		case <-answered:
			return nil
		case <-time.After(10 * time.Second):
			return errors.New("a request was not answered")
		}
	}, err
}

// receive passes on what is stored from now on, by the number at the end of its subject. The consumer is a push
// consumer that keeps its state in memory and waits for no acknowledgement, which is the fastest way.
func receive(
	ctx context.Context, conn *nats.Conn, js jetstream.JetStream, subjects string, handle func(number string),
) error {
	consumer, err := js.CreatePushConsumer(ctx, "asks", jetstream.ConsumerConfig{
		DeliverSubject: conn.NewInbox(), FilterSubject: subjects + "*", DeliverPolicy: jetstream.DeliverNewPolicy,
		AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true,
	})
	if err != nil {
		return err
	}
	consuming, err := consumer.Consume(func(message jetstream.Msg) {
		handle(strings.TrimPrefix(message.Subject(), subjects))
	})
	if err == nil {
		context.AfterFunc(ctx, consuming.Stop)
	}
	return err
}
