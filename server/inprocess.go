package server

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// inProcess is a gRPC connection without a wire: calls on it run the registered services in the caller's goroutine,
// behind the same interceptors as calls from outside. The REST face uses it for its calls.
//
// Messages cross it field by field and are not serialized, so both sides share the parts of a message: neither may
// change a message after handing it over.
type inProcess struct {
	unary    grpc.UnaryServerInterceptor
	stream   grpc.StreamServerInterceptor
	services map[string]registered
}

type registered struct {
	implementation any
	methods        map[string]grpc.MethodHandler
	streams        map[string]*grpc.StreamDesc
}

var (
	_ grpc.ServiceRegistrar    = (*inProcess)(nil)
	_ grpc.ClientConnInterface = (*inProcess)(nil)
)

// newInProcess makes a connection whose calls pass the interceptors. Register the services before the first call.
func newInProcess(unary grpc.UnaryServerInterceptor, stream grpc.StreamServerInterceptor) *inProcess {
	return &inProcess{unary: unary, stream: stream, services: make(map[string]registered)}
}

// RegisterService makes the methods of a service callable.
func (c *inProcess) RegisterService(description *grpc.ServiceDesc, implementation any) {
	service := registered{
		implementation: implementation,
		methods:        make(map[string]grpc.MethodHandler),
		streams:        make(map[string]*grpc.StreamDesc),
	}
	for _, method := range description.Methods {
		service.methods[method.MethodName] = method.Handler
	}
	for i := range description.Streams {
		service.streams[description.Streams[i].StreamName] = &description.Streams[i]
	}
	c.services[description.ServiceName] = service
}

// find returns the service of a full method name such as /openintent.v1.MessageService/SendMessage, and the method's
// name.
func (c *inProcess) find(fullMethod string) (registered, string) {
	service, method, _ := strings.Cut(strings.TrimPrefix(fullMethod, "/"), "/")
	return c.services[service], method
}

// Invoke runs a unary call. It returns the errors of the interceptors.
func (c *inProcess) Invoke(ctx context.Context, fullMethod string, request, response any, options ...grpc.CallOption) error {
	service, name := c.find(fullMethod)
	method, ok := service.methods[name]
	if !ok {
		return unknownMethod(fullMethod)
	}
	headers := &sentHeaders{method: fullMethod}
	result, err := method(service.implementation, incoming(ctx, headers), func(into any) error {
		return handOver(request, into)
	}, c.unary)
	for _, option := range options {
		switch o := option.(type) {
		case grpc.HeaderCallOption:
			*o.HeaderAddr = headers.taken()
		case grpc.TrailerCallOption:
			*o.TrailerAddr = headers.takenTrailer()
		}
	}
	if err != nil {
		return err
	}
	return handOver(result, response)
}

func unknownMethod(fullMethod string) error {
	return status.Errorf(codes.Unimplemented, "The method %s is unknown.", fullMethod)
}

// incoming returns the context as the service sees it: the caller's outgoing metadata becomes the service's incoming
// metadata.
func incoming(ctx context.Context, stream grpc.ServerTransportStream) context.Context {
	sent, _ := metadata.FromOutgoingContext(ctx)
	ctx = metadata.NewIncomingContext(metadata.NewOutgoingContext(ctx, nil), sent)
	return grpc.NewContextWithServerTransportStream(ctx, stream)
}

// handOver moves one side's message into the empty message of the same type that the other side brought.
func handOver(from, into any) error {
	source, isMessage := from.(proto.Message)
	target, alsoMessage := into.(proto.Message)
	if !isMessage || !alsoMessage {
		return fmt.Errorf("in-process call: cannot hand a %T over as %T", from, into)
	}
	reflected := target.ProtoReflect()
	if source.ProtoReflect().Descriptor() != reflected.Descriptor() {
		return fmt.Errorf("in-process call: a %T is not a %T", from, into)
	}
	source.ProtoReflect().Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		reflected.Set(field, value)
		return true
	})
	return nil
}

// sentHeaders keeps the headers and trailers that a service sets.
type sentHeaders struct {
	method string

	mutex   sync.Mutex
	header  metadata.MD
	trailer metadata.MD
}

var _ grpc.ServerTransportStream = (*sentHeaders)(nil)

// Method returns the full name of the running method.
func (h *sentHeaders) Method() string { return h.method }

// SetHeader adds to the header.
func (h *sentHeaders) SetHeader(md metadata.MD) error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.header = metadata.Join(h.header, md)
	return nil
}

// SendHeader adds to the header; the caller of a unary call gets it with the response.
func (h *sentHeaders) SendHeader(md metadata.MD) error { return h.SetHeader(md) }

// SetTrailer adds to the trailer.
func (h *sentHeaders) SetTrailer(md metadata.MD) error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.trailer = metadata.Join(h.trailer, md)
	return nil
}

func (h *sentHeaders) taken() metadata.MD {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.header.Copy()
}

func (h *sentHeaders) takenTrailer() metadata.MD {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.trailer.Copy()
}
