package server

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"openintent/internal/caller"
	"openintent/internal/fault"
	"openintent/reach"
)

var (
	// errStopping ends waits and refuses new calls while the server stops; the same call succeeds elsewhere or later.
	errStopping = fault.New(fault.Unavailable, "SERVER_STOPPING",
		"The server is stopping; try again in a moment.").After(time.Second)
	// errStreamStopping ends streams when the server stops. Nothing is lost: a stream that begins after the cursor,
	// on any server, continues there.
	errStreamStopping = fault.New(fault.Unavailable, "SERVER_STOPPING",
		"The server is stopping; connect again, here in a moment or at another replica, and go on after the last position "+
			"that you received.").After(time.Second)
	// errSendingStopping ends streams on which clients send messages or acknowledgements.
	errSendingStopping = fault.New(fault.Unavailable, "SERVER_STOPPING",
		"The server is stopping; connect again, here in a moment or at another replica, and send what was not answered "+
			"again; messages in the same order and under the same idempotency keys.").After(time.Second)
	// errCompressed refuses a call in the words that gRPC has for it where nobody has registered a compressor.
	errCompressed   = status.Error(codes.Unimplemented, "The server decompresses nothing; send messages without compression.")
	errMethodClosed = fault.New(fault.Denied, "METHOD_CLOSED", "This method is not open to callers.")
)

// interceptors are the steps that every call passes on both faces; the package comment lists them.
type interceptors struct {
	methods   map[string]*method
	keys      *Keys
	validator *validator
	observer  *observer
	limits    limits
	public    *publicStreams
	memory    *memory
	scopes    scopes
	// here keeps the paths to agents; nil in tests.
	here *reach.Here
	// names are those of a gRPC port on loopback; nil when every name is served.
	names *ownNames
	// stopping is cancelled when the server begins to stop.
	stopping context.Context
}

func newInterceptors(
	stopping context.Context, keys *Keys, limits limits, metrics *metrics, logger *slog.Logger,
) (*interceptors, error) {
	rules, err := readContract()
	if err != nil {
		return nil, err
	}
	return &interceptors{
		methods:   rules.methods,
		keys:      keys,
		validator: rules.validator,
		observer:  &observer{metrics: metrics, logger: logger},
		limits:    limits,
		public:    newPublicStreams(),
		memory:    newMemory(0),
		stopping:  stopping,
	}, nil
}

// unary handles a call with one request and one response, when the request is already read.
func (i *interceptors) unary(
	ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler,
) (any, error) {
	return i.one(ctx, info.FullMethod, func(ctx context.Context, call *call) (any, error) {
		if err := i.prepare(ctx, call, request); err != nil {
			return nil, err
		}
		return handler(ctx, request)
	})
}

// one handles a call with one request and one response: it admits the call and then runs answer.
func (i *interceptors) one(
	ctx context.Context, fullMethod string, answer func(context.Context, *call) (any, error),
) (response any, err error) {
	call := i.observer.begin(ctx, fullMethod, i.methods[fullMethod], false)
	defer func() { err = i.observer.end(call, err) }()
	defer fault.Recover(&err)
	ctx, release, err := i.admit(call.ctx, call)
	if err != nil {
		return nil, err
	}
	defer release()
	defer func() {
		if call.endWait != nil {
			call.endWait()
		}
	}()
	response, err = answer(ctx, call)
	return response, i.keys.orEnded(call.key, causeOf(ctx, call.wire.cause(err)))
}

// stream handles a streaming call; its requests are prepared as the service receives them. For a request that breaks
// the rules of its fields, the service receives a fault instead. On a stream of many requests the service may then
// continue with the next one.
func (i *interceptors) stream(
	service any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler,
) (err error) {
	call := i.observer.begin(stream.Context(), info.FullMethod, i.methods[info.FullMethod], true)
	defer func() { err = i.observer.end(call, err) }()
	defer fault.Recover(&err)
	ctx, release, err := i.admit(call.ctx, call)
	if err != nil {
		return err
	}
	defer release()
	leave, err := i.enter(ctx, call)
	if err != nil {
		return err
	}
	defer leave()
	prepare := func(request any) error { return i.prepare(ctx, call, request) }
	if call.method.carries {
		prepare = func(any) error { return nil } // each call that it carries is prepared by itself
	}
	prepared := newPreparedStream(ctx, stream, prepare)
	defer prepared.end()
	err = handler(service, prepared)
	return i.keys.orEnded(call.key, causeOf(ctx, call.wire.cause(err)))
}

// enter counts a stream, or refuses it when there are too many.
func (i *interceptors) enter(ctx context.Context, call *call) (leave func(), _ error) {
	if call.method.access == public {
		return i.public.enter(ctx)
	}
	return i.limits.streams.enter(ctx)
}

// admit decides whether the call may run, and who its caller is. The returned context carries the caller. For a call
// that waits, it ends when the server stops or the caller's key is removed. The caller of admit must call release
// after the service returned.
func (i *interceptors) admit(ctx context.Context, call *call) (_ context.Context, release func(), _ error) {
	if isCompressed(ctx) {
		return nil, nil, errCompressed
	}
	if err := i.names.admitCall(call.headers); err != nil {
		return nil, nil, err
	}
	if call.method == nil {
		return nil, nil, errMethodClosed
	}
	var key *apiKey // nil for callers that need none
	if call.method.access == public {
		i.assign(ctx, call, "")
	} else {
		if i.stopping.Err() != nil {
			return nil, nil, call.stopped()
		}
		var who caller.Caller
		var err error
		if carrier := carrierOf(ctx); carrier != nil {
			who, key = carrier.who, carrier.key
		} else if who, key, err = i.keys.identify(ctx, call.headers); err != nil {
			return nil, nil, err
		}
		if key.readOnly && call.method.effect != reads {
			return nil, nil, errKeyReadOnly
		}
		call.agent, call.traceID, call.scope = who.Agent, who.TraceID, who.Scope
		account := i.assign(ctx, call, who.KeyID)
		if err := account.admit(); err != nil {
			return nil, nil, err
		}
		ctx = i.hear(ctx, call, who, account)
		if call.method.effect == writes && call.method.free == "" {
			who.Account = who.Quota.Account()
		}
		if call.method.carries {
			ctx = context.WithValue(ctx, carrierKey{}, &carrier{who: who, key: key, connection: ctx})
		}
		ctx = caller.NewContext(ctx, who)
	}
	if !call.method.waits {
		return ctx, func() {}, nil
	}
	call.key = key
	ctx, cancel := context.WithCancelCause(ctx)
	forgetStop := context.AfterFunc(i.stopping, func() { cancel(call.stopped()) })
	forgetKey := i.keys.expiries.watch(key, cancel)
	return ctx, func() { forgetStop(); forgetKey(); cancel(nil) }, nil
}

// isCompressed reports whether a call's requests are compressed. A small message could then grow large. That the server decompresses
// nothing must not depend on which compressors the packages that it links have registered.
func isCompressed(ctx context.Context) bool {
	stream, ok := grpc.ServerTransportStreamFromContext(ctx).(interface{ RecvCompress() string })
	if !ok {
		return false
	}
	compression := stream.RecvCompress()
	return compression != "" && compression != encoding.Identity
}

// assign gives the call, on its connection, to the account of its caller's key.
func (i *interceptors) assign(ctx context.Context, call *call, keyID string) *account {
	account := i.memory.account(keyID)
	if call.wire = wireCallOf(ctx); call.wire != nil {
		stream, _ := grpc.ServerTransportStreamFromContext(ctx).(statusWriter)
		call.wire.arrive(account, stream, !call.method.manyRequests)
		if connection := call.wire.connection; keyID != "" && !connection.known.Load() {
			connection.known.Store(true)
			connection.unknown.leave()
		}
	}
	return account
}

// stopped returns the error with which the call ends, or is refused, when the server stops.
func (c *call) stopped() error {
	switch {
	case c.method.manyRequests:
		return errSendingStopping
	case c.streaming:
		return errStreamStopping
	}
	return errStopping
}

// prepare fills a request from its headers, looks for U+0000 in it, keeps it to the key's scope, validates it, and counts a call that waits.
func (i *interceptors) prepare(ctx context.Context, call *call, request any) error {
	message, ok := request.(proto.Message)
	if !ok || !call.method.validated {
		return nil
	}
	if err := fillFromHeaders(call.headers, call.method, message); err != nil {
		return err
	}
	if err := checkZero(message.ProtoReflect()); err != nil {
		return err
	}
	if call.scope != nil {
		if err := i.scopes.check(ctx, call.scope, call.method, message); err != nil {
			return err
		}
	}
	if err := i.validator.check(message); err != nil {
		return err
	}
	return i.beginWait(ctx, call, message)
}

// causeOf returns the reason for which the server itself ended the call's context, when that is why the call failed.
func causeOf(ctx context.Context, err error) error {
	ended := errors.Is(err, context.Canceled) || status.Code(err) == codes.Canceled
	var reason *fault.Fault
	if ended && errors.As(context.Cause(ctx), &reason) {
		return reason
	}
	return err
}
