package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // the codec that `undecoded` stands in for
	"google.golang.org/grpc/mem"

	openintentv1 "openintent/gen/openintent/v1"
)

const (
	// streamsPerConnection is how many streams share a connection.
	streamsPerConnection = 125
	// openingAtOnce is how many streams are opened simultaneously.
	openingAtOnce = 64
)

// follower names the agent of a stream. Each stream has a different agent, so that a message to everyone has that
// many readers.
func follower(n int) string { return "bench-follower-" + strconv.Itoa(n) }

// following are open gRPC streams, until their context ends.
type following []grpc.ServerStreamingClient[openintentv1.SubscribeResponse]

// follow opens streams, numbered from first on, and waits until each has caught up.
func (t *target) follow(
	ctx context.Context, first, n int, request func(n int) *openintentv1.SubscribeRequest,
) (following, error) {
	conns, err := t.connections(ctx, n)
	if err != nil {
		return nil, err
	}
	streams := make(following, n)
	err = inParallel(n, func(i int) (err error) {
		client := openintentv1.NewMessageServiceClient(conns[i/streamsPerConnection])
		streams[i], err = client.Subscribe(as(ctx, follower(first+i)), request(first+i), grpc.ForceCodecV2(codec))
		if err != nil {
			return err
		}
		response, err := streams[i].Recv()
		if err == nil && !response.GetCaughtUp() {
			err = errors.New("a stream from now on did not begin with caught_up")
		}
		return err
	})
	return streams, err
}

// connections opens as many connections as n streams share.
func (t *target) connections(ctx context.Context, n int) ([]*grpc.ClientConn, error) {
	conns := make([]*grpc.ClientConn, (n+streamsPerConnection-1)/streamsPerConnection)
	for i := range conns {
		conn, err := t.connect()
		if err != nil {
			return nil, err
		}
		context.AfterFunc(ctx, func() { _ = conn.Close() })
		conns[i] = conn
	}
	return conns, nil
}

// inParallel does n things, a bounded number of them simultaneously, until one fails.
func inParallel(n int, do func(i int) error) error {
	failures := make(chan error, n)
	var working sync.WaitGroup
	places := make(chan struct{}, openingAtOnce)
	for i := 0; i < n && len(failures) == 0; i++ {
		places <- struct{}{}
		working.Go(func() {
			defer func() { <-places }()
			if err := do(i); err != nil {
				failures <- fmt.Errorf("stream %d: %w", i+1, err)
			}
		})
	}
	working.Wait()
	close(failures)
	return <-failures
}

// onChannel follows one channel.
func onChannel(id string) *openintentv1.SubscribeRequest {
	return &openintentv1.SubscribeRequest{Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: id}}
}

// onAgent follows whatever reaches a follower.
func onAgent(n int) *openintentv1.SubscribeRequest {
	return &openintentv1.SubscribeRequest{Scope: &openintentv1.SubscribeRequest_AgentId{AgentId: follower(n)}}
}

// undecoded is what a stream receives into when nobody looks at the message. This makes the clients of many streams
// as cheap as possible, because they share the machine with the server.
type undecoded struct{}

// sparingCodec is the usual codec, except that it does not decode into undecoded, and decodes only the number into a
// deliveryNumber.
type sparingCodec struct{ encoding.CodecV2 }

var codec = sparingCodec{encoding.GetCodecV2("proto")}

func (c sparingCodec) Unmarshal(data mem.BufferSlice, into any) error {
	switch into := into.(type) {
	case undecoded:
		return nil
	case *deliveryNumber:
		return into.receive(data)
	}
	return c.CodecV2.Unmarshal(data, into)
}
