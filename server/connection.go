package server

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// requestTimeout is how long a client may take to send a request, or to finish one of a stream's requests that it
	// has begun.
	requestTimeout = 30 * time.Second
	// answerTimeout is how long a client may leave the answer to a unary call untouched.
	answerTimeout = 30 * time.Second
	// strangerTimeout is how long a connection stays open on which nobody has shown a key and no call is running.
	strangerTimeout = time.Minute
	// A connection is closed when its client resets more than mostResets calls within resetWindow, each of them
	// within resetWithin of its beginning, and these are more than half of all calls that began.
	mostResets  = 1000
	resetWindow = 10 * time.Second
	resetWithin = time.Second
)

var errResets = errors.New("the client resets too many calls")

// connection is one connection of the gRPC port. It follows the frames in both directions, and so knows which calls
// are running and how much memory each of them holds.
type connection struct {
	net.Conn
	owner *connections
	// known is true once a caller has shown a key. Until then, unknown counts it among the strangers.
	known   atomic.Bool
	unknown *stranger
	// counted is the number of running answers whose bytes are counted.
	counted atomic.Int32
	// Only the reading goroutine uses in, and only the writing one uses out.
	in, out frameFollower

	mutex sync.Mutex
	open  map[uint32]*wireCall
	// active is when the last call began; before the first call, when the connection began.
	active time.Time
	// now is the time at which the current piece arrived or left.
	now time.Time
	// over is the account that went over its bounds in this piece.
	over *account
	// These count what happened since window: the calls that began, and those that were reset soon after.
	window        time.Time
	begun, resets int
	ended         bool
}

func newConnection(owner *connections, raw net.Conn) *connection {
	c := &connection{Conn: raw, owner: owner, open: make(map[uint32]*wireCall), active: time.Now()}
	c.in.to, c.in.skip = inward{c}, prefaceBytes
	c.out.to = outward{c}
	return c
}

// Read reads and follows what the client sends.
func (c *connection) Read(into []byte) (n int, err error) {
	n, err = c.Conn.Read(into)
	if wrong := c.received(into[:n]); wrong != nil {
		return 0, wrong
	}
	return n, err
}

// received follows the bytes that the client has sent.
func (c *connection) received(piece []byte) error {
	if len(piece) == 0 {
		return nil
	}
	c.owner.add(c)
	c.mutex.Lock()
	c.now = time.Now()
	c.in.follow(piece)
	over, tooMany := c.over, c.resets > mostResets && 2*c.resets > c.begun
	c.over = nil
	c.mutex.Unlock()
	if over != nil {
		c.owner.relieve(over)
	}
	if tooMany {
		c.owner.logger.Warn("a connection was closed because its client kept resetting calls right after it began them",
			"peer", c.RemoteAddr().String())
		return errResets
	}
	return nil
}

// Write follows and sends the server's bytes.
func (c *connection) Write(piece []byte) (int, error) {
	c.out.follow(piece)
	return c.Conn.Write(piece)
}

// Close ends the connection and releases everything that its calls hold.
func (c *connection) Close() error {
	c.owner.remove(c)
	c.unknown.leave()
	c.mutex.Lock()
	c.ended = true
	for number := range c.open {
		c.forget(number)
	}
	c.mutex.Unlock()
	return c.Conn.Close()
}

// forget removes a call that has ended. The caller holds the mutex.
func (c *connection) forget(number uint32) {
	if e := c.open[number]; e != nil {
		e.release()
		delete(c.open, number)
	}
}

// find returns the call of a stream, or nil.
func (c *connection) find(number uint32) *wireCall {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.open[number]
}

// inward observes what the client sends. The caller holds the mutex.
type inward struct{ *connection }

func (c inward) begins(f frame) {
	switch e := c.open[f.stream]; {
	case !f.isCall() || c.ended:
	case f.kind == frameHeaders && e == nil:
		c.begin(f.stream)
	case f.kind == frameReset && e != nil:
		if c.now.Sub(e.began) < resetWithin {
			c.resets++
		}
		c.forget(f.stream)
	case f.kind == frameData && e != nil:
		e.held += f.bufferBytes()
		e.padding = 0
		if f.has(flagPadded) {
			e.padding = -1
		}
	}
}

// begin records a new call.
func (c inward) begin(number uint32) {
	if c.now.Sub(c.window) > resetWindow {
		c.window, c.begun, c.resets = c.now, 0, 0
	}
	c.begun++
	c.active = c.now
	c.open[number] = &wireCall{connection: c.connection, number: number, began: c.now}
}

func (c inward) carries(f frame, piece []byte) {
	if f.kind != frameData {
		return
	}
	if e := c.open[f.stream]; e != nil {
		e.carry(f, piece, c.in.left-len(piece), c.now)
	}
}

func (c inward) ends(f frame) {
	if f.kind != frameData {
		return
	}
	e := c.open[f.stream]
	if e == nil {
		return
	}
	if !e.request.within() || e.refusal.Load() != nil { // gRPC discards what arrives after a refusal.
		e.held = 0
	}
	if !e.settle() {
		c.over = e.account
	}
}

// outward observes what the server sends.
type outward struct{ *connection }

func (c outward) begins(f frame) {
	switch {
	case !f.isCall():
	case f.kind == frameReset || f.has(flagEndStream):
		c.mutex.Lock()
		defer c.mutex.Unlock()
		c.forget(f.stream)
	case f.kind == frameData && c.counted.Load() > 0:
		c.mutex.Lock()
		defer c.mutex.Unlock()
		if e := c.open[f.stream]; e != nil && e.unsent > 0 {
			e.took(int64(f.size))
			e.answered = time.Now()
		}
	}
}

func (outward) carries(frame, []byte) {}

func (outward) ends(frame) {}
