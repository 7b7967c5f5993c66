package c2a

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/coder/websocket"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
)

// connection is one harness. One goroutine reads what the harness sends and answers it, one after the other, so a harness that asks
// for much waits for itself. Another one follows the agent's subscription and delivers (deliver.go), and one tells the contract of
// acknowledgements.
type connection struct {
	door   *Door
	caller *doors.Caller
	wire   wire
	log    *slog.Logger
	// end ends the connection with its reason, once.
	end     context.CancelCauseFunc
	working sync.WaitGroup

	// terms and subscription are set by initialize, before the deliveries begin.
	terms        *terms
	subscription *openintentv1.Subscription
	// former are those that the agent had with other windows.
	former  []*openintentv1.Subscription
	pending pending
	// expected are the requests whose time may run out.
	expected  expected
	handedOut handedOut
}

// ended is why a connection is over.
type ended struct{ why closing }

func (e *ended) Error() string { return e.why.reason }

// Why the door itself ends connections.
var (
	errReplaced = &ended{closing{websocket.StatusPolicyViolation, "REPLACED: another connection of this agent has taken over."}}
	errStopping = &ended{closing{websocket.StatusGoingAway, "UNAVAILABLE: the server is stopping; connect again."}}
	errSlow     = &ended{closing{websocket.StatusPolicyViolation, "TOO_SLOW: the harness did not read what was sent within 30 seconds."}}
	errSilent   = &ended{closing{websocket.StatusPolicyViolation, "NOT_INITIALIZED: the first request, initialize, did not come in time."}}
	errLost     = &ended{closing{websocket.StatusPolicyViolation, "NO_ANSWER: the harness gave no sign of life."}}
)

// errLeft is why the calls of a connection are over that the harness has closed. It is a cancellation like any other: the error of reading
// the socket, such as io.EOF, would look as if the database had been lost.
var errLeft = fmt.Errorf("the harness has left: %w", context.Canceled)

// refusedBy is the end of a connection that the contract ended.
func refusedBy(err error) *ended {
	refusal := doors.RefusalOf(err)
	return &ended{closing{websocket.StatusPolicyViolation, refusal.Reason + ": " + refusal.Message}}
}

// serve answers one harness until it leaves, or the context ends. It returns nil when the harness has left, and otherwise why the
// connection ended.
func (d *Door) serve(ctx context.Context, caller *doors.Caller, w wire) error {
	ctx, end := context.WithCancelCause(ctx)
	c := &connection{
		door: d, caller: caller, wire: w, end: end,
		log: d.config.Logger.With("agent", caller.Agent),
	}
	c.pending.c, c.expected.due = c, make(chan *openintentv1.Message, mostExpected)
	defer c.expected.forget()
	defer context.AfterFunc(d.stopping, func() { end(errStopping) })()
	c.working.Go(func() { c.closeAtEnd(ctx) })
	patience := time.AfterFunc(d.times.initialize, func() { end(errSilent) })
	err := c.readAll(ctx, patience)
	var why *ended
	if errors.As(err, &why) {
		end(why)
	} else {
		end(errLeft)
	}
	c.working.Wait()
	if cause := context.Cause(ctx); errors.As(cause, &why) {
		c.log.Info("a C2A connection was ended", "because", why.why.reason)
		return why
	}
	c.log.Debug("a C2A harness has left", "how", fmt.Sprint(err))
	return nil
}

// closeAtEnd closes the wire as soon as somebody ends the connection, which also ends the reading.
func (c *connection) closeAtEnd(ctx context.Context) {
	<-ctx.Done()
	why := closing{websocket.StatusNormalClosure, ""}
	var known *ended
	if errors.As(context.Cause(ctx), &known) {
		why = known.why
	}
	c.wire.close(why)
}

// readAll reads and answers until the connection ends. The reading itself ends with the wire: a context that ends would cut it before the
// harness is told why.
func (c *connection) readAll(ctx context.Context, initialized interface{ Stop() bool }) error {
	for {
		text, done, err := c.wire.read(context.WithoutCancel(ctx))
		if err != nil {
			return err
		}
		f, problem := parse(text)
		if problem != nil {
			err = c.fail(ctx, nil, problem)
		} else {
			err = c.take(ctx, f)
		}
		done()
		if err != nil {
			return err
		}
		if c.terms != nil {
			initialized.Stop()
		}
	}
}

// take does what a frame says. It returns an error when the connection is over.
func (c *connection) take(ctx context.Context, f frame) error {
	switch {
	case f.Method == "":
		c.pending.answered(f)
		return nil
	case f.ID == nil:
		c.notified(ctx, f)
		return nil
	}
	result, problem := c.answer(ctx, f)
	if problem != nil {
		return c.fail(ctx, f.ID, problem)
	}
	if err := c.send(ctx, outgoing{Version: version, ID: f.ID, Result: result}); err != nil {
		return err
	}
	if f.Method == methodInitialize { // it was carried out, so this happens once
		c.begin(ctx)
	}
	return nil
}

// The methods of the protocol.
const (
	methodInitialize = "initialize"
	methodPing       = "ping"
	methodDeliver    = "chat/deliver"
	methodListTools  = "tools/list"
	methodCallTool   = "tools/call"
	noteCancelled    = "notifications/cancelled"
	noteProgress     = "notifications/progress"
)

var (
	errUninitialized = newError(codeUninitialized, "NOT_INITIALIZED", "The first request of a connection must be initialize.")
	errInitialized   = newError(codeInvalidRequest, "ALREADY_INITIALIZED", "This connection is initialized already; connect again for other terms.")
)

// answer carries out a request.
func (c *connection) answer(ctx context.Context, f frame) (result any, problem *rpcError) {
	switch {
	case f.Method == methodPing:
		return struct{}{}, nil
	case f.Method == methodInitialize && c.terms != nil:
		return nil, errInitialized
	case f.Method == methodInitialize:
		agreed, err := agree(f.Params)
		if err == nil { // what is sent from the answer on is delivered
			c.subscription, c.former, err = c.subscribe(ctx, agreed.window)
		}
		if err != nil {
			return nil, c.refuse(ctx, f.Method, err)
		}
		c.terms = &agreed
		return agreed.describe(c.caller.Agent, c.door.config.Version), nil
	case c.terms == nil:
		return nil, errUninitialized
	case f.Method == methodListTools:
		return listTools(), nil
	case f.Method == methodCallTool:
		return c.callTool(ctx, f.Params)
	}
	return nil, newError(codeUnknownMethod, "METHOD_UNKNOWN",
		"This door has no such method; it has initialize, ping, tools/list and tools/call.")
}

// begin begins to deliver.
func (c *connection) begin(ctx context.Context) {
	c.log.Info("a C2A harness is connected", "draft", c.terms.draft)
	context.AfterFunc(ctx, doors.OpenPath(ctx, "c2a", c.wire.alive))
	c.working.Go(func() { c.pending.acknowledgeAll(ctx) })
	c.working.Go(func() { c.end(c.deliverAll(ctx)) })
	c.working.Go(func() { c.watchLife(ctx) })
	c.working.Go(func() { c.cancelExpired(ctx) })
}

// watchLife asks the harness for signs of life, and ends the connection of one that gives none.
func (c *connection) watchLife(ctx context.Context) {
	ticker := time.NewTicker(c.door.times.alive)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.door.times.write)
		err := c.wire.alive(asking)
		if cancel(); err != nil && ctx.Err() == nil {
			c.end(errLost)
			return
		}
	}
}

// fail answers a request that was not carried out. Without an id, the answer has the id null.
func (c *connection) fail(ctx context.Context, id json.RawMessage, problem *rpcError) error {
	return c.send(ctx, failure{version, id, problem})
}

// send sends a frame. A harness that does not read it in time is cut off, so nothing waits for it longer.
func (c *connection) send(ctx context.Context, f any) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	text, err := encode(f)
	if err != nil {
		sent, _ := f.(outgoing)
		c.failed(ctx, "frame", sent.Method, err)
		text = []byte(unwritten)
	}
	writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.door.times.write)
	defer cancel()
	err = c.wire.write(writing, text)
	if err != nil && ctx.Err() == nil && writing.Err() != nil {
		c.end(errSlow)
		return errSlow
	}
	return err
}

// notify sends a notification, which has no answer.
func (c *connection) notify(ctx context.Context, method string, params any) error {
	return c.send(ctx, outgoing{Version: version, Method: method, Params: params})
}
