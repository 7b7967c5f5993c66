package openintent

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"time"
)

// This file says what a client does while it gets no connection to its server: it says so at once, and how to start a
// server if that is on this machine. It tries again in short intervals there, and gives up when its time to connect is over.

// localConnectTimeout is how long a person waits for a server on this machine that refuses connections.
const localConnectTimeout = 5 * time.Second

// LocalConnectTimeout returns the time to connect for programs that a person waits for: 5 seconds when the server is on this
// machine, where nobody starts listening by himself, and 0, for no bound, anywhere else.
func (a Address) LocalConnectTimeout() time.Duration {
	if a.Loopback() {
		return localConnectTimeout
	}
	return 0
}

// isLocal reports whether the options' server is on this machine.
func (o Options) isLocal() bool {
	host, _, err := net.SplitHostPort(o.Server)
	return err == nil && Address{Host: host}.Loopback()
}

// notConnected returns the error of an attempt that got no connection; nil for any other failure. It says how to start a
// server when nobody listens on this machine.
func (o Options) notConnected(e *Error) *Error {
	noConnection := strings.HasPrefix(e.Message, "Error while dialing") || strings.HasPrefix(e.Message, "name resolver error")
	if e.Code != "UNAVAILABLE" || e.Reason != "" || !noConnection {
		return nil
	}
	text := e.Message
	if o.isLocal() && (strings.Contains(text, "connection refused") || strings.Contains(text, "actively refused")) {
		text = fmt.Sprintf("Nobody listens at %s (connection refused). Start a server with: %s", o.Server, o.startingCommand())
	}
	return &Error{Code: e.Code, Message: text, unconnected: true}
}

// startingCommand returns the command that starts a server at the options' address.
func (o Options) startingCommand() string {
	if o.Server == defaultServer || o.Server == strings.Replace(defaultServer, "127.0.0.1", "localhost", 1) {
		return "openintent serve"
	}
	return "openintent serve --grpc-addr " + o.Server
}

// unconnected reports whether an attempt failed because it got no connection.
func unconnected(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.unconnected
}

// timeToConnect returns how long a call is tried while there is no connection; 0 or less for no such bound. Where nobody has
// listened yet on this machine, nobody starts to by himself. A server that was there once may be starting again.
func (c *Client) timeToConnect() time.Duration {
	if c.options.ConnectTimeout == 0 && c.options.isLocal() && !c.outage.isReached() {
		return localConnectTimeout
	}
	return c.options.ConnectTimeout
}

// connecting returns the patience after a failure: shorter when there is no connection, and a time to connect is set.
func (p patience) connecting(err error, timeout time.Duration) patience {
	if end := p.begun.Add(timeout); timeout > 0 && unconnected(err) && end.Before(p.until) {
		p.until, p.bounded = end, false
	}
	return p
}

// outage remembers whether a program was told that its server cannot be reached, so that it is told once, and whether the
// server has ever answered.
type outage struct{ told, reached atomic.Bool }

// over notes that the server has answered.
func (o *outage) over() {
	if o == nil { // in tests of the rules alone
		return
	}
	if !o.reached.Load() {
		o.reached.Store(true)
	}
	if o.told.Load() {
		o.told.Store(false)
	}
}

// failed notes that a call has failed. A refusal is an answer, too.
func (o *outage) failed(err error) {
	var e *Error
	if o != nil && errors.As(err, &e) && e.Reason != "" {
		o.reached.Store(true)
	}
}

func (o *outage) isReached() bool { return o == nil || o.reached.Load() }

func (o Options) log() *slog.Logger {
	if o.Log == nil {
		return slog.Default()
	}
	return o.Log
}

// retries tells the program that a call is made again.
func (c *Client) retries(err error) {
	switch {
	case c.options.OnRetry != nil:
		c.options.OnRetry(err)
	case unconnected(err) && c.outage != nil && !c.outage.told.Swap(true):
		c.options.log().Warn(fmt.Sprintf("a client cannot reach the server at %s and keeps trying: %s", c.options.Server, textOf(err)),
			"address", c.options.Server)
	}
}

// starting is the time before an agent is connected for the first time. The end of its time to connect ends the agent then,
// and so does a failure of TLS, which nothing but other settings can mend. Later it goes on, since certificates are renewed.
type starting struct {
	under   bool
	begun   time.Time
	timeout time.Duration // 0 for none
}

// ends returns the error that ends the agent instead of another attempt after a wait, or nil.
func (s starting) ends(c *Client, err error, wait time.Duration) error {
	var e *Error
	until := s.begun.Add(s.timeout)
	switch {
	case !s.under || !errors.As(err, &e):
	case e.Reason == reasonNoTLS:
		return err
	case s.timeout > 0 && e.unconnected && time.Now().Add(wait).After(until):
		return c.away(patience{begun: s.begun, until: until}, err)
	}
	return nil
}
