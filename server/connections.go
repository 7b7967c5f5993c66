package server

import (
	"context"
	"log/slog"
	"net"
	"reflect"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	"openintent/internal/fault"
)

// overdueInterval is how often the server checks its connections for anything that takes too long.
const overdueInterval = 5 * time.Second

// connections is the set of the gRPC port's connections. It bounds what strangers and slow clients can make the
// server hold; see memory.go, wire_call.go and connection.go for the bounds.
type connections struct {
	memory    *memory
	strangers *strangers
	logger    *slog.Logger
	// stray is the answer to clients that speak HTTP/1; nil for none.
	stray []byte

	mutex sync.Mutex
	all   map[*connection]struct{}
	// sweeping fires repeatedly while there are connections.
	sweeping *time.Timer

	// relieving ensures that one goroutine at a time chooses what to refuse.
	relieving sync.Mutex
}

func newConnections(memory *memory, strangers *strangers, logger *slog.Logger) *connections {
	return &connections{memory: memory, strangers: strangers, logger: logger, all: make(map[*connection]struct{})}
}

// add registers a connection that has begun to send.
func (cs *connections) add(c *connection) {
	if c.in.skip < prefaceBytes {
		return // The connection was registered with its first piece.
	}
	cs.mutex.Lock()
	defer cs.mutex.Unlock()
	cs.all[c] = struct{}{}
	if cs.sweeping == nil {
		cs.sweeping = time.AfterFunc(overdueInterval, cs.sweepOn)
	}
}

func (cs *connections) remove(c *connection) {
	cs.mutex.Lock()
	defer cs.mutex.Unlock()
	delete(cs.all, c)
}

func (cs *connections) list() []*connection {
	cs.mutex.Lock()
	defer cs.mutex.Unlock()
	list := make([]*connection, 0, len(cs.all))
	for c := range cs.all {
		list = append(list, c)
	}
	return list
}

// sweepOn schedules the next sweep, for as long as there are connections.
func (cs *connections) sweepOn() {
	cs.sweep(time.Now())
	cs.mutex.Lock()
	defer cs.mutex.Unlock()
	if cs.sweeping = nil; len(cs.all) > 0 {
		cs.sweeping = time.AfterFunc(overdueInterval, cs.sweepOn)
	}
}

// sweep refuses requests that take too long. It closes connections of strangers that do nothing, and of clients that
// do not read their answers.
func (cs *connections) sweep(now time.Time) {
	for _, c := range cs.list() {
		slow, over := c.overdue(now)
		for _, e := range slow {
			e.refuse(errRequestSlow)
		}
		if over != "" {
			cs.logger.Info("a connection was closed", "because", over, "peer", c.RemoteAddr().String())
			_ = c.Close()
		}
	}
}

// overdue returns the calls to refuse and, if the connection is to be closed, the reason.
func (c *connection) overdue(now time.Time) (slow []*wireCall, over string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if !c.known.Load() && len(c.open) == 0 && now.Sub(c.active) > strangerTimeout {
		return nil, "nobody has shown a key on it"
	}
	for _, e := range c.open {
		switch {
		case e.stuck(now):
			return nil, "its client does not read an answer, or does not finish a call's headers"
		case e.slow(now):
			e.end(errRequestSlow)
			slow = append(slow, e)
		}
	}
	return slow, ""
}

// relieve refuses the largest unfinished requests of an account that is over its bounds, until everything is within
// them.
func (cs *connections) relieve(over *account) {
	cs.relieving.Lock()
	defer cs.relieving.Unlock()
	for {
		if over.requests.Load() <= over.share {
			if cs.memory.total.requests.Load() <= cs.memory.all {
				return
			}
			over = cs.memory.heaviest()
		}
		e := cs.largest(over)
		if e == nil {
			return
		}
		e.refuse(errRequestsHeld)
	}
}

// largest ends the account's call that holds most, and returns it; it returns nil when no call of the account holds
// anything.
func (cs *connections) largest(of *account) *wireCall {
	for {
		var found *wireCall
		var most int64
		for _, c := range cs.list() {
			c.mutex.Lock()
			for _, e := range c.open {
				if e.account == of && e.counted > most {
					found, most = e, e.counted
				}
			}
			c.mutex.Unlock()
		}
		if found == nil {
			return nil
		}
		found.connection.mutex.Lock()
		still := found.counted > 0
		if still {
			found.end(errRequestsHeld)
		}
		found.connection.mutex.Unlock()
		if still {
			return found
		}
	}
}

// end records why a call is refused, and releases what its request holds.
func (e *wireCall) end(refusal *fault.Fault) {
	e.refusal.Store(refusal)
	e.since, e.held = time.Time{}, 0
	e.settle()
}

// handshake registers the connections of the gRPC port: gRPC calls it for each new one.
type handshake struct {
	credentials.TransportCredentials
	connections *connections
	plain       bool
}

// peerInfo links a call's context to its connection.
type peerInfo struct {
	credentials.AuthInfo
	connection *connection
}

// ServerHandshake performs the TLS handshake, if there is TLS, and then follows the frames inside.
func (h handshake) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	unknown := h.connections.strangers.add(raw)
	if h.plain { // Under TLS, clients of HTTP/1 are refused in the handshake.
		if err := answerStray(raw, h.connections.stray); err != nil {
			unknown.leave()
			return nil, nil, err
		}
	}
	inside, info, err := h.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		unknown.leave()
		return nil, nil, err
	}
	c := newConnection(h.connections, inside)
	c.unknown = unknown
	known := peerInfo{info, c}
	if h.plain {
		return newPlainConnection(c), known, nil
	}
	return c, known, nil
}

// wireCallOf returns the call of a context on its connection; nil for calls from within the process.
func wireCallOf(ctx context.Context) *wireCall {
	from, ok := peer.FromContext(ctx)
	if !ok {
		return nil
	}
	info, ok := from.AuthInfo.(peerInfo)
	if !ok {
		return nil
	}
	number, ok := streamNumber(grpc.ServerTransportStreamFromContext(ctx))
	if !ok {
		return nil
	}
	return info.connection.find(number)
}

// numberField is where gRPC's stream keeps its number, for which it has no method.
var numberField struct {
	once  sync.Once
	of    reflect.Type
	index []int
}

// streamNumber returns the number of a call's stream on its connection.
func streamNumber(stream grpc.ServerTransportStream) (uint32, bool) {
	value := reflect.ValueOf(stream)
	if value.Kind() != reflect.Pointer || value.Elem().Kind() != reflect.Struct {
		return 0, false
	}
	value = value.Elem()
	numberField.once.Do(func() {
		if field, ok := value.Type().FieldByName("id"); ok && field.Type.Kind() == reflect.Uint32 {
			numberField.of, numberField.index = value.Type(), field.Index
		}
	})
	if value.Type() != numberField.of {
		return 0, false
	}
	return uint32(value.FieldByIndex(numberField.index).Uint()), true
}
