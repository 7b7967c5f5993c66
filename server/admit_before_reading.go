package server

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// earlyRegistrar registers services so that their calls are admitted before any part of a request is read. gRPC's own
// unary interceptors run after the request is read; its handlers run before that.
type earlyRegistrar struct {
	*grpc.Server
	through *interceptors
}

// RegisterService registers a service.
func (r earlyRegistrar) RegisterService(description *grpc.ServiceDesc, implementation any) {
	early := *description
	early.Methods = make([]grpc.MethodDesc, len(description.Methods))
	for i, method := range description.Methods {
		early.Methods[i] = grpc.MethodDesc{
			MethodName: method.MethodName,
			Handler:    r.through.early("/"+description.ServiceName+"/"+method.MethodName, method.Handler),
		}
	}
	r.Server.RegisterService(&early, implementation)
}

// early wraps a method's handler in one that admits the call first and reads its request afterwards.
func (i *interceptors) early(fullMethod string, handler grpc.MethodHandler) grpc.MethodHandler {
	return func(
		service any, ctx context.Context, read func(any) error, _ grpc.UnaryServerInterceptor,
	) (any, error) {
		var wire *wireCall
		response, err := i.one(ctx, fullMethod, func(ctx context.Context, call *call) (any, error) {
			wire = call.wire
			return handler(service, ctx, func(request any) error {
				if err := read(request); err != nil {
					return err
				}
				return i.prepare(ctx, call, request)
			}, nil)
		})
		if err != nil || wire == nil {
			return response, err
		}
		return unaryAnswer{response, wire}, nil
	}
}

// unaryAnswer is a response on its way to the wire.
type unaryAnswer struct {
	response any
	wire     *wireCall
}

// answerCodec is gRPC's own codec, which also reports to a call how large its answer is.
type answerCodec struct{ encoding.CodecV2 }

func newAnswerCodec() answerCodec { return answerCodec{encoding.GetCodecV2(protocodec.Name)} }

// pooledBytes is the size up to which gRPC's buffers fit their content; for anything larger it takes a buffer of 1
// MiB.
const pooledBytes = 32 << 10

// marshal encodes a message in no more memory than it needs. Like gRPC's codec it borrows a buffer of medium size, but it
// determines the size once.
func (c answerCodec) marshal(value any) (mem.BufferSlice, error) {
	message, ok := value.(proto.Message)
	if !ok {
		return c.CodecV2.Marshal(value)
	}
	size, once := proto.Size(message), proto.MarshalOptions{UseCachedSize: true}
	if size > pooledBytes || mem.IsBelowBufferPoolingThreshold(size) {
		data, err := once.MarshalAppend(make([]byte, 0, size), message)
		return mem.BufferSlice{mem.SliceBuffer(data)}, err
	}
	pool := mem.DefaultBufferPool()
	buffer := pool.Get(size)
	if _, err := once.MarshalAppend((*buffer)[:0], message); err != nil {
		pool.Put(buffer)
		return nil, err
	}
	return mem.BufferSlice{mem.NewBuffer(buffer, pool)}, nil
}

// Marshal encodes a message or an answer. When there is no memory left for an answer, Marshal returns a refusal
// instead.
func (c answerCodec) Marshal(value any) (mem.BufferSlice, error) {
	given, ok := value.(unaryAnswer)
	if !ok {
		return c.CodecV2.Marshal(value)
	}
	data, err := c.marshal(given.response)
	if err == nil && !given.wire.answer(int64(data.Len())) {
		data.Free()
		given.wire.refuse(errAnswersHeld)
		return nil, errAnswersHeld
	}
	return data, err
}
