package exchange

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"
)

const (
	// busyCalls is how many calls within a second make a client busy, and busyTogether how many at a time.
	busyCalls    = 10
	busyTogether = 2
	// largestRequest is the largest request that goes on a stream, in bytes. A larger one would keep the others waiting.
	largestRequest = 16 << 10
	// idleFor is how long a stream without calls stays, and oldAfter for how long a stream takes calls.
	idleFor  = 30 * time.Second
	oldAfter = 10 * time.Minute
	// refusedFor is how long calls go on their own after a stream was refused, or ended before it brought an answer.
	refusedFor = 10 * time.Second
)

// errElsewhere says that a call has to be made on its own. Nothing of it was done.
var errElsewhere = errors.New("exchange: the call is made on its own")

// identityKeys are the metadata that say who calls. A call with other metadata is made on its own.
var identityKeys = []string{"authorization", "x-agent-id", "x-api-key"}

// Connection makes calls on its exchanges while its clients are busy. Make it with Over.
type Connection struct {
	under  grpc.ClientConnInterface
	always bool

	mutex  sync.Mutex
	closed bool
	lanes  map[string]*lane
	// without is true once the server has turned out to know no exchanges.
	without bool
}

var _ grpc.ClientConnInterface = (*Connection)(nil)

// lane is what the calls of one identity are made on.
type lane struct {
	identity []string
	// underWay counts the calls that are made on their own, and recent those since a moment.
	underWay, recent int
	since            time.Time
	stream           *stream
	refusedUntil     time.Time
}

// Over makes a connection that uses exchanges of another one. Close it before that.
func Over(connection grpc.ClientConnInterface) *Connection {
	return &Connection{under: connection, lanes: make(map[string]*lane)}
}

// Always makes a connection whose calls go on an exchange from the first one on, for tests.
func Always(connection grpc.ClientConnInterface) *Connection {
	c := Over(connection)
	c.always = true
	return c
}

// Close ends the streams. Calls that are under way on them fail.
func (c *Connection) Close() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.closed = true
	for _, l := range c.lanes {
		if l.stream != nil {
			l.stream.cancel()
		}
	}
}

// Invoke makes a call.
func (c *Connection) Invoke(ctx context.Context, method string, args, reply any, options ...grpc.CallOption) error {
	request := requestOf(args)
	peerOf, own := optionsOf(options)
	if request == nil || own || proto.Size(request) > largestRequest {
		return c.under.Invoke(ctx, method, args, reply, options...)
	}
	identity, all := identityOf(ctx)
	if !all {
		return c.under.Invoke(ctx, method, args, reply, options...)
	}
	on, done := c.begin(identity)
	if on != nil {
		err := on.call(ctx, request, args, reply)
		on.tellPeer(peerOf)
		if !errors.Is(err, errElsewhere) {
			return err
		}
		return c.under.Invoke(ctx, method, args, reply, options...)
	}
	defer done()
	return c.under.Invoke(ctx, method, args, reply, options...)
}

// optionsOf reads a call's options. peerOf is where the caller wants the peer of the call; nil if it does not ask for it. own is true if an
// option needs a call of its own. Generated clients add an option that needs nothing.
func optionsOf(options []grpc.CallOption) (peerOf *peer.Peer, own bool) {
	for _, option := range options {
		switch known := option.(type) {
		case grpc.StaticMethodCallOption:
		case grpc.PeerCallOption:
			peerOf = known.PeerAddr
		default:
			return nil, true
		}
	}
	return peerOf, false
}

// NewStream begins a stream of its own.
func (c *Connection) NewStream(
	ctx context.Context, description *grpc.StreamDesc, method string, options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	return c.under.NewStream(ctx, description, method, options...)
}

// identityOf returns what a call's metadata says of its caller. It reports whether that is all the metadata.
func identityOf(ctx context.Context) (identity []string, all bool) {
	sent, _ := metadata.FromOutgoingContext(ctx)
	for key, values := range sent {
		if !slices.Contains(identityKeys, key) || len(values) != 1 {
			return nil, false
		}
	}
	for _, key := range identityKeys {
		if values := sent[key]; len(values) == 1 {
			identity = append(identity, key, values[0])
		}
	}
	return identity, true
}

// begin returns the stream on which a call of an identity is made. If it is made on its own, on is nil and done must be called after it.
func (c *Connection) begin(identity []string) (on *stream, done func()) {
	now := time.Now()
	c.mutex.Lock()
	defer c.mutex.Unlock()
	key := strings.Join(identity, "\x00")
	l := c.lanes[key]
	if l == nil {
		l = &lane{identity: identity, since: now}
		c.lanes[key] = l
	}
	if now.Sub(l.since) > time.Second {
		l.since, l.recent = now, 0
	}
	l.recent++
	if l.stream != nil && l.stream.retires(now) {
		l.stream = nil
	}
	busy := c.always || l.recent >= busyCalls || l.underWay+1 >= busyTogether
	if l.stream == nil && busy && !c.closed && !c.without && now.After(l.refusedUntil) {
		l.stream = c.open(l, now)
	}
	if l.stream != nil {
		return l.stream, nil
	}
	l.underWay++
	return nil, func() {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		if l.underWay--; l.underWay == 0 && l.stream == nil && time.Since(l.since) > time.Second {
			delete(c.lanes, key)
		}
	}
}

// ended notes that a stream is over, and how.
func (c *Connection) ended(l *lane, s *stream, refused, unknown bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if l.stream == s {
		l.stream = nil
	}
	c.without = c.without || unknown
	if refused {
		l.refusedUntil = time.Now().Add(refusedFor)
	}
	if key := strings.Join(l.identity, "\x00"); l.stream == nil && l.underWay == 0 && c.lanes[key] == l && !refused {
		delete(c.lanes, key)
	}
}
