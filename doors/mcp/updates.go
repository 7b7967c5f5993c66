package mcp

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc/codes"

	"openintent/doors"
)

// mostHeard is how many resources one request to listen may name.
const mostHeard = 20

// updates are the resources whose changes a client hears of. Each is one Subscribe of the contract (resource_subscriptions.go).
//
// A client that reads slowly gets one update for all that happened meanwhile: what is kept for it is only which of its resources have
// changed. While nothing happens, a resource costs its stream and no more; a goroutine tells the client as long as there is something
// to tell.
type updates struct {
	session *session
	server  *sdk.Server

	mutex   sync.Mutex
	heard   map[string]*followed // by address
	changed []*followed          // in the order of the changes
	telling bool
	// working counts the goroutines.
	working sync.WaitGroup
}

// newUpdates makes the updates of a session whose protocol's server gets these options.
func newUpdates(s *session, options *sdk.ServerOptions) *updates {
	u := &updates{session: s, heard: make(map[string]*followed)}
	options.SubscribeHandler = u.subscribe
	options.UnsubscribeHandler = u.unsubscribe
	return u
}

// install lets the updates see what passes through the protocol's server.
func (u *updates) install(server *sdk.Server) {
	if u == nil {
		return
	}
	u.server = server
	server.AddReceivingMiddleware(u.receiving)
	server.AddSendingMiddleware(u.sending)
}

// wait waits for what is left of the updates once the client has gone.
func (u *updates) wait() {
	if u != nil {
		u.working.Wait()
	}
}

// hearing is one request to hear of resources.
type hearing struct {
	// end ends the request, if it is one that lasts.
	end context.CancelCauseFunc
	// streams counts those of the request's resources that can still change. When none is left, the request ends, so that it does not outlive
	// the client's right to hear. updates.mutex guards it.
	streams int
	// accepted says that the client knows that it hears; until then it is told of nothing. updates.mutex guards it.
	accepted bool
}

type hearingKey struct{}

// receiving bounds the requests to hear, and ends those that last when the contract ends one of their streams.
func (u *updates) receiving(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, request sdk.Request) (sdk.Result, error) {
		switch given := request.GetParams().(type) {
		case *sdk.SubscribeParams:
			h := &hearing{}
			result, err := next(context.WithValue(ctx, hearingKey{}, h), method, request)
			if err == nil {
				u.accept(h)
			}
			return result, err
		case *sdk.SubscriptionsListenParams:
			if err := bounded(given); err != nil {
				return nil, err
			}
			ctx, end := context.WithCancelCause(ctx)
			defer end(nil)
			result, err := next(context.WithValue(ctx, hearingKey{}, &hearing{end: end}), method, request)
			var lost *streamLost
			if err == nil && errors.As(context.Cause(ctx), &lost) {
				return lost.answer(result)
			}
			return result, err
		}
		return next(ctx, method, request)
	}
}

// bounded refuses to listen to too many resources, and leaves out repetitions.
func bounded(given *sdk.SubscriptionsListenParams) error {
	if given == nil || given.Notifications == nil {
		return nil // the library refuses it
	}
	if len(given.Notifications.ResourceSubscriptions) > mostHeard {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "A request listens to at most 20 resources; listen to an " +
			"intent in place of its channels, or to your inbox."}
	}
	slices.Sort(given.Notifications.ResourceSubscriptions)
	given.Notifications.ResourceSubscriptions = slices.Compact(given.Notifications.ResourceSubscriptions)
	return nil
}

// sending sees when a client learns that it hears.
func (u *updates) sending(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, request sdk.Request) (sdk.Result, error) {
		result, err := next(ctx, method, request)
		if h, ok := ctx.Value(hearingKey{}).(*hearing); ok && method == "notifications/subscriptions/acknowledged" {
			u.accept(h)
		}
		return result, err
	}
}

// accept begins to tell a client of what it asked to hear, and of what has happened since it asked.
func (u *updates) accept(h *hearing) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	h.accepted = true
	u.begin()
}

// changedNow notes that a resource has changed.
func (u *updates) changedNow(f *followed) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if !slices.Contains(u.changed, f) {
		u.changed = append(u.changed, f)
	}
	u.begin()
}

// begin begins to tell the client, unless somebody does already. The mutex must be held.
func (u *updates) begin() {
	if !u.telling && u.next() >= 0 {
		u.telling = true
		u.working.Go(u.tell)
	}
}

// next returns the place of the first change that the client may be told of, and -1 for none. The mutex must be held.
func (u *updates) next() int {
	return slices.IndexFunc(u.changed, func(f *followed) bool { return f.hearing.accepted })
}

// tell tells the client until it knows everything.
func (u *updates) tell() {
	for {
		u.mutex.Lock()
		place := u.next()
		if place < 0 {
			u.telling = false
			u.mutex.Unlock()
			return
		}
		address, h := u.changed[place].address, u.changed[place].hearing
		u.changed = slices.Delete(u.changed, place, place+1)
		u.mutex.Unlock()
		// This waits for a client that reads slowly, for as long as the server in front has patience with it.
		_ = u.server.ResourceUpdated(u.session.ended, &sdk.ResourceUpdatedNotificationParams{URI: address})
		u.endIfSpent(h)
	}
}

// closed notes that nothing more can come of a resource, which changes for the last time.
func (u *updates) closed(f *followed) {
	u.mutex.Lock()
	f.hearing.streams--
	u.mutex.Unlock()
	u.changedNow(f)
}

// endIfSpent ends a lasting request once nothing more can come of its resources and the client has been told of everything.
func (u *updates) endIfSpent(h *hearing) {
	u.mutex.Lock()
	over := h.end != nil && h.streams == 0 && !slices.ContainsFunc(u.changed, func(f *followed) bool { return f.hearing == h })
	u.mutex.Unlock()
	if over {
		h.end(nil)
	}
}

// streamLost is why the contract ended the stream of a resource.
type streamLost struct{ refusal doors.Refusal }

func (l *streamLost) Error() string { return l.refusal.Reason + ": " + l.refusal.Message }

// answer is how a request to listen ends that lost a stream. When the server stops, that is an ordinary end; the client may listen
// again.
func (l *streamLost) answer(result sdk.Result) (sdk.Result, error) {
	if l.refusal.Code == codes.Unavailable {
		return result, nil
	}
	return nil, refusedRequest(l.refusal)
}
