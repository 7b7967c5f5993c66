package mcp

import (
	"context"
	"slices"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

// followed is a resource that a client hears of.
type followed struct {
	address  string
	resource resource
	hearing  *hearing
	// end ends the stream, and ended is closed once nothing of it is left.
	end   context.CancelFunc
	ended chan struct{}
}

// errHeardTwice refuses a second request for a resource on one connection: the protocol could not tell their ends apart.
var errHeardTwice = fault.New(fault.Conflict, "ALREADY_LISTENING",
	"Another request on this connection listens to this resource; end it first.")

// subscribe begins to follow a resource. It returns once the contract has accepted the stream, so whoever may not see the resource is
// refused.
func (u *updates) subscribe(ctx context.Context, request *sdk.SubscribeRequest) error {
	address := request.Params.URI
	found, err := u.session.resourceOf(address)
	if err != nil {
		return err
	}
	h, _ := ctx.Value(hearingKey{}).(*hearing)
	following, end := context.WithCancel(u.session.ended)
	f := &followed{address: address, resource: found, hearing: h, end: end, ended: make(chan struct{})}
	if other := u.reserve(f); other != nil {
		end()
		if h.end == nil && other.hearing.end == nil {
			return nil // to ask again for the same is no mistake
		}
		return refusedRequest(doors.RefusalOf(errHeardTwice))
	}
	unbind := context.AfterFunc(ctx, end)
	stream, err := u.open(following, found)
	if unbind(); err != nil {
		end()
		close(f.ended)
		u.forget(f)
		u.session.failed(ctx, "resource", address, err)
		return refusedResource(address, err)
	}
	u.working.Go(func() { u.follow(following, f, stream) })
	return nil
}

// unsubscribe ends the following of a resource.
func (u *updates) unsubscribe(_ context.Context, request *sdk.UnsubscribeRequest) error {
	u.mutex.Lock()
	f := u.heard[request.Params.URI]
	u.mutex.Unlock()
	if f != nil {
		f.end()
		<-f.ended
		u.forget(f)
	}
	return nil
}

// reserve notes a resource as followed, or returns the one that has its address already.
func (u *updates) reserve(f *followed) (other *followed) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if other = u.heard[f.address]; other == nil {
		u.heard[f.address] = f
		f.hearing.streams++
	}
	return other
}

// release lets somebody follow the same address again. The client is still told of the last change.
func (u *updates) release(f *followed) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if u.heard[f.address] == f {
		delete(u.heard, f.address)
	}
}

// forget lets somebody follow the same address again. The client is told of no further change.
func (u *updates) forget(f *followed) {
	u.release(f)
	u.mutex.Lock()
	defer u.mutex.Unlock()
	u.changed = slices.DeleteFunc(u.changed, func(other *followed) bool { return other == f })
}

type stream = grpc.ServerStreamingClient[openintentv1.SubscribeResponse]

// open opens the stream of a resource, from now on, and waits until the contract has accepted it.
func (u *updates) open(ctx context.Context, r resource) (stream, error) {
	request := &openintentv1.SubscribeRequest{Include: []string{"annotations"}}
	switch r.kind {
	case intentResource:
		request.Scope = &openintentv1.SubscribeRequest_IntentId{IntentId: r.id}
	case channelResource:
		request.Scope = &openintentv1.SubscribeRequest_ChannelId{ChannelId: r.id}
	case inboxResource:
		request.Scope = &openintentv1.SubscribeRequest_AgentId{AgentId: r.id}
	}
	opened, err := u.session.caller.Messages.Subscribe(ctx, request)
	if err != nil {
		return nil, err
	}
	header, err := opened.Header()
	if err == nil && len(header.Get("openintent-position")) == 0 {
		_, err = opened.Recv() // a refusal comes without a header
	}
	return opened, err
}

// follow notes what comes, until the client wants to hear no more or nothing more can come.
func (u *updates) follow(ctx context.Context, f *followed, stream stream) {
	defer close(f.ended)
	defer f.end()
	defer u.release(f)
	if f.resource.kind == inboxResource {
		defer doors.OpenPath(ctx, "listen", nil)()
	}
	for {
		delivery, err := stream.Recv()
		if err == nil {
			if !delivery.GetCaughtUp() {
				u.changedNow(f)
			}
			continue
		}
		if ctx.Err() != nil {
			return
		}
		refusal := doors.RefusalOf(err)
		switch {
		case refusal.Reason == "CHANNEL_CLOSED": // it changes once more, and then no more
			u.closed(f)
			return
		case f.hearing.end != nil:
			f.hearing.end(&streamLost{refusal})
			return
		}
		stream, err = u.again(ctx, f, refusal)
		u.changedNow(f) // it may have changed meanwhile, or the client may see it no more
		if err != nil {
			return
		}
	}
}

const (
	firstPause   = 200 * time.Millisecond
	longestPause = 30 * time.Second
)

// again opens a lost stream again once the server is back, for a client that cannot learn of the end of a stream. It returns an error
// when the server refuses the stream, or the client has gone.
func (u *updates) again(ctx context.Context, f *followed, lost doors.Refusal) (stream, error) {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		switch lost.Code {
		case codes.Unavailable, codes.ResourceExhausted, codes.Internal:
		default:
			if lost.Reason != "CURSOR_BEYOND_LOG" { // the database lost what was handed on; what is there now counts
				return nil, &streamLost{lost}
			}
		}
		timer := time.NewTimer(max(pause, lost.RetryAfter))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		case <-timer.C:
		}
		opened, err := u.open(ctx, f.resource)
		if err == nil {
			return opened, nil
		}
		lost = doors.RefusalOf(err)
	}
}
