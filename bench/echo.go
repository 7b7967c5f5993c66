package main

import (
	"context"
	"net"
	"strconv"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	openintentv1 "openintent/gen/openintent/v1"
)

// echo answers asks as the server does, over the same calls, and stores nothing: what remains is the floor.
type echo struct {
	openintentv1.UnimplementedMessageServiceServer

	ids      atomic.Int64
	waiting  sync.Map // request id -> chan *openintentv1.Message
	requests chan *openintentv1.Message
}

func echoChannels() []string { return []string{"echo"} }

func serveEcho(ctx context.Context) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	e := &echo{requests: make(chan *openintentv1.Message, 4096)}
	grpcServer := grpc.NewServer()
	openintentv1.RegisterMessageServiceServer(grpcServer, e)
	context.AfterFunc(ctx, grpcServer.Stop)
	announce(addresses{GRPC: listener.Addr().String()})
	return grpcServer.Serve(listener)
}

func (e *echo) Subscribe(
	_ *openintentv1.SubscribeRequest, stream grpc.ServerStreamingServer[openintentv1.SubscribeResponse],
) error {
	if err := stream.SendHeader(metadata.MD{}); err != nil {
		return err
	}
	for {
		select {
		case <-stream.Context().Done():
			return nil
		case request := <-e.requests:
			if err := stream.Send(&openintentv1.SubscribeResponse{Message: request}); err != nil {
				return err
			}
		}
	}
}

func (e *echo) Ask(ctx context.Context, req *openintentv1.AskRequest) (*openintentv1.Message, error) {
	id := strconv.FormatInt(e.ids.Add(1), 10)
	answered := make(chan *openintentv1.Message, 1)
	e.waiting.Store(id, answered)
	defer e.waiting.Delete(id)
	e.requests <- &openintentv1.Message{
		Id: id, ChannelId: req.GetChannelId(), Payload: req.GetPayload(),
		MessageType: openintentv1.MessageType_MESSAGE_TYPE_REQUEST,
	}
	select {
	case response := <-answered:
		return response, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (e *echo) ReplyMessage(_ context.Context, req *openintentv1.ReplyMessageRequest) (*openintentv1.Message, error) {
	response := &openintentv1.Message{CorrelationId: &req.MessageId, Payload: req.GetPayload()}
	if waiting, ok := e.waiting.Load(req.GetMessageId()); ok {
		if answered, ok := waiting.(chan *openintentv1.Message); ok {
			answered <- response
		}
	}
	return response, nil
}
