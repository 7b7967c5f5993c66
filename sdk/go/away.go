package openintent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
)

// This file says what a call returns when the server is away: until its deadline the call is made again, and then it
// is an ErrUnavailable that names the address. Only the server says that nobody answered in time.

const (
	// reasonNotGRPC is the reason of the error for an address where something else than gRPC answers.
	reasonNotGRPC = "NOT_GRPC"
	// reasonOutcomeUnknown is the reason of the server's error for a call that may have taken effect.
	reasonOutcomeUnknown = "OUTCOME_UNKNOWN"
	reasonKeyMissing     = "API_KEY_MISSING"
	reasonKeyUnknown     = "API_KEY_UNKNOWN"
)

// patience is how long a call is made again.
type patience struct {
	begun time.Time
	// until is when the last attempt may begin.
	until time.Time
	// bounded is true when the caller's context has set the time.
	bounded bool
}

// patienceFor returns the patience that the context's deadline leaves or, without one, the client's own.
func (c *Client) patienceFor(ctx context.Context) patience {
	p := patience{begun: time.Now()}
	if p.until, p.bounded = ctx.Deadline(); !p.bounded {
		p.until = p.begun.Add(c.options.RetryPatience)
	}
	return p
}

// away returns the error of a call whose time ran out, and whose last attempt failed with err.
func (c *Client) away(p patience, err error) error {
	var last *Error
	if !errors.As(err, &last) || last.Code == "ABORTED" {
		return err
	}
	within := p.until.Sub(p.begun).Round(time.Millisecond)
	brief := fmt.Sprintf("The server at %s could not be reached within %s", c.options.Server, within)
	text := brief + ": " + last.Message
	switch {
	case unanswered(err):
		text = fmt.Sprintf("The server at %s did not answer within %s.", c.options.Server, within)
	case last.Reason != "":
		text = fmt.Sprintf("The server at %s was unavailable for %s: %s", c.options.Server, within, last.Message)
	}
	failure := c.unavailable(text, last, p.bounded)
	failure.brief = brief
	return failure
}

// perhapsDone returns the error of a call that must not happen twice, and whose answer was lost.
func (c *Client) perhapsDone(err error) error {
	var last *Error
	if !errors.As(err, &last) {
		return err
	}
	text := fmt.Sprintf("No answer came from the server at %s, so the call may or may not have taken effect: %s",
		c.options.Server, last.Message)
	return c.unavailable(text, last, false)
}

// unavailable makes the error from the one of the last attempt. errors.Is finds context.DeadlineExceeded in it when the
// caller's own deadline ran out.
func (c *Client) unavailable(text string, last *Error, late bool) *Error {
	cause := last.cause
	if late {
		cause = errors.Join(context.DeadlineExceeded, cause)
	}
	return &Error{Code: "UNAVAILABLE", Reason: last.Reason, Message: text, Metadata: maps.Clone(last.Metadata), cause: cause}
}

// unanswered reports whether an attempt ended because no answer came in time, and not because the server said so.
func unanswered(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == "DEADLINE_EXCEEDED" && e.Reason == ""
}

// attempt follows whether a call is sent to a server.
type attempt struct{ met peer.Peer }

// option makes the call report that.
func (a *attempt) option() grpc.CallOption { return grpc.Peer(&a.met) }

// sent reports whether the call was sent: there was a connection.
func (a *attempt) sent() bool { return a.met.Addr != nil }

// undone reports whether a failed call has certainly taken no effect: it was never sent, or the server has refused it
// and says why.
func (a *attempt) undone(err error) bool {
	var e *Error
	return !a.sent() || errors.As(err, &e) && e.Reason != "" && e.Reason != reasonOutcomeUnknown
}

// advised returns an error that says what to change in the options when the failure comes from them, and any other
// failure unchanged.
func (o Options) advised(err error) error {
	var e *Error
	if err == nil || !errors.As(FromError(err), &e) {
		return err
	}
	switch {
	// The first is what gRPC says when it meets HTTP/1.1, the second when HTTP/2 knows nothing of the call.
	case e.Reason == "" && strings.Contains(e.Message, "frame header looked like an HTTP/1.1 header"),
		e.Reason == "" && strings.HasPrefix(e.Message, "unexpected HTTP status code received from server: 404"):
		return &Error{Code: "UNAVAILABLE", Reason: reasonNotGRPC, cause: err, Message: fmt.Sprintf(
			"%s does not speak gRPC; it looks like the REST address. Give the gRPC address (%s by default).", o.Server, defaultServer)}
	case e.Reason == reasonKeyUnknown && o.APIKey == DevelopmentKey:
		e.Message = fmt.Sprintf("The server at %s does not know %s, the key for a server on this machine when no other is given. %s",
			o.Server, DevelopmentKey, howToGiveAKey)
		return e
	}
	for _, explain := range []func(*Error) *Error{o.notConnected, o.tlsFailed} {
		if said := explain(e); said != nil {
			said.cause = err
			return said
		}
	}
	return err
}

const howToGiveAKey = "Set OPENINTENT_API_KEY, or give the key as an option."

// patientCalls makes calls again while the server is away. It returns a refusal as gRPC has it.
type patientCalls struct {
	identified
	client *Client
}

func (c patientCalls) Invoke(ctx context.Context, method string, args, reply any, options ...grpc.CallOption) error {
	this := &attempt{}
	var last error
	_, err := attempted(ctx, c.client, c.client.patienceFor(ctx), func(ctx context.Context) (struct{}, error) {
		*this = attempt{}
		last = c.identified.Invoke(ctx, method, args, reply, append(slices.Clip(options), this.option())...)
		return struct{}{}, last
	}, func(err error) bool { return onlyReads(method) || this.undone(err) })
	if err == nil || errors.Is(err, ErrUnavailable) || errors.Is(err, context.Canceled) {
		return err
	}
	return last
}

// onlyReads reports whether a method of the contract changes nothing, so that it may be called any number of times.
func onlyReads(method string) bool {
	name := method[strings.LastIndexByte(method, '/')+1:]
	return slices.ContainsFunc([]string{"Get", "List", "Await", "Verify"}, func(verb string) bool { return strings.HasPrefix(name, verb) })
}
