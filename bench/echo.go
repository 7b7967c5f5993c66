package main

import (
	"context"
	"net"
	"strconv"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
)

// echo accepts the same calls as the server and stores nothing, so it measures the floor. On the channel
// fanOutChannel every message goes to every stream, encoded once; on any other channel, requests go to one stream.
type echo struct {
	openintentv1.UnimplementedMessageServiceServer

	ids      atomic.Int64
	waiting  sync.Map // request id -> chan *openintentv1.Message
	requests chan *openintentv1.Message

	mutex   sync.Mutex
	streams map[*openStream]struct{}
}

// openStream is a stream of the channel fanOutChannel.
type openStream struct {
	grpc.ServerStream
	messages chan *grpc.PreparedMsg
}

const fanOutChannel = "fan-out"

func echoChannels() []string { return []string{"echo"} }

func serveEcho(ctx context.Context) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	e := &echo{requests: make(chan *openintentv1.Message, 4096), streams: make(map[*openStream]struct{})}
	grpcServer := grpc.NewServer()
	openintentv1.RegisterMessageServiceServer(grpcServer, e)
	context.AfterFunc(ctx, grpcServer.Stop)
	announce(addresses{GRPC: listener.Addr().String()})
	return grpcServer.Serve(listener)
}

func (e *echo) Subscribe(
	req *openintentv1.SubscribeRequest, stream grpc.ServerStreamingServer[openintentv1.SubscribeResponse],
) error {
	if err := stream.SendHeader(metadata.MD{}); err != nil {
		return err
	}
	if req.GetChannelId() == fanOutChannel {
		return e.hand(stream)
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

// hand sends every message to a stream until the stream ends.
func (e *echo) hand(to grpc.ServerStream) error {
	stream := &openStream{ServerStream: to, messages: make(chan *grpc.PreparedMsg, underWay)}
	e.mutex.Lock()
	e.streams[stream] = struct{}{}
	e.mutex.Unlock()
	defer func() {
		e.mutex.Lock()
		defer e.mutex.Unlock()
		delete(e.streams, stream)
	}()
	if err := to.SendMsg(&openintentv1.SubscribeResponse{CaughtUp: true}); err != nil {
		return err
	}
	for {
		select {
		case <-to.Context().Done():
			return nil
		case message := <-stream.messages:
			if err := to.SendMsg(message); err != nil {
				return err
			}
		}
	}
}

// SendMessage encodes a message and hands it to all streams.
func (e *echo) SendMessage(_ context.Context, req *openintentv1.SendMessageRequest) (*openintentv1.Message, error) {
	message := &openintentv1.Message{
		Id: strconv.FormatInt(e.ids.Add(1), 10), ChannelId: req.GetChannelId(), Sender: asker, Payload: req.GetPayload(),
		MessageType: openintentv1.MessageType_MESSAGE_TYPE_NOTIFY, CreatedAt: timestamppb.Now(),
	}
	prepared := new(grpc.PreparedMsg)
	e.mutex.Lock()
	defer e.mutex.Unlock()
	encoded := false
	for stream := range e.streams {
		if !encoded {
			encoded = true
			if err := prepared.Encode(stream, &openintentv1.SubscribeResponse{Message: message}); err != nil {
				return nil, err
			}
		}
		select {
		case stream.messages <- prepared:
		case <-stream.Context().Done():
		}
	}
	return message, nil
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
