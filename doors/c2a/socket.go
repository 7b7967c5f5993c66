package c2a

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"openintent/doors"
)

// socket is a WebSocket.
type socket struct {
	*websocket.Conn
	memory doors.Memory
	// under is the connection that carries the frames.
	under net.Conn
	// most is how many bytes a message may have, and times has how long it may take to arrive and how long a closing may take.
	most  int64
	times times
}

// These end a socket, which is closed with a reason before they are returned.
var (
	errTooLarge = errors.New("a message is larger than this door takes")
	errHeld     = errors.New("unfinished messages take all the memory that is set aside for them")
	errNoUTF8   = errors.New("a message is not UTF-8")
	errNoText   = errors.New("a message is not text")
)

// accept begins a WebSocket. It has answered a request that begins none.
func (d *Door) accept(w http.ResponseWriter, r *http.Request) (*socket, error) {
	taking := &hijacked{ResponseWriter: w}
	opened, err := websocket.Accept(taking, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // the server in front knows which pages may come in
		CompressionMode:    websocket.CompressionDisabled,
	})
	if err != nil {
		return nil, err
	}
	opened.SetReadLimit(-1) // read counts by itself
	return &socket{
		Conn: opened, under: taking.under, memory: doors.MemoryOf(r.Context()), most: d.config.MaxMessageBytes, times: d.times,
	}, nil
}

// hijacked keeps the connection that a WebSocket takes over.
type hijacked struct {
	http.ResponseWriter
	under net.Conn
}

// Hijack hands the connection over.
func (h *hijacked) Hijack() (_ net.Conn, buffers *bufio.ReadWriter, err error) {
	h.under, buffers, err = http.NewResponseController(h.ResponseWriter).Hijack()
	return h.under, buffers, err
}

// longestReason is how many bytes of a reason a closing WebSocket carries.
const longestReason = 123

// pieceBytes is by how much the room for an arriving message grows.
const pieceBytes = 16 << 10

func (s *socket) read(ctx context.Context) (text []byte, done func(), _ error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	kind, from, err := s.Reader(ctx)
	if err != nil {
		s.broken()
		return nil, nil, err
	}
	defer time.AfterFunc(s.times.arrive, cancel).Stop()
	if kind != websocket.MessageText {
		s.close(closing{websocket.StatusUnsupportedData, "This door takes text messages only."})
		return nil, nil, errNoText
	}
	held := int64(0)
	done = func() { s.memory.Hold(-held) }
	for {
		if len(text) == cap(text) {
			more := max(pieceBytes, len(text))
			held += int64(more)
			if !s.memory.Hold(int64(more)) {
				done()
				s.close(closing{websocket.StatusTryAgainLater, "Unfinished messages take all the memory that is set aside for them."})
				return nil, nil, errHeld
			}
			text = append(make([]byte, 0, len(text)+more), text...)
		}
		n, err := from.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		switch {
		case int64(len(text)) > s.most:
			done()
			s.close(closing{websocket.StatusMessageTooBig, "The message is larger than this door takes."})
			return nil, nil, errTooLarge
		case errors.Is(err, io.EOF) && !utf8.Valid(text):
			done()
			s.close(closing{websocket.StatusInvalidFramePayloadData, "The message is not UTF-8; a text message must be."})
			return nil, nil, errNoUTF8
		case errors.Is(err, io.EOF):
			return text, done, nil
		case err != nil:
			done()
			s.broken()
			return nil, nil, err
		}
	}
}

func (s *socket) write(ctx context.Context, text []byte) error {
	return s.Write(ctx, websocket.MessageText, text)
}

func (s *socket) alive(ctx context.Context) error { return s.Ping(ctx) }

// broken closes a socket that cannot be read any more. The status reaches a harness whose frames broke the protocol, and which has not been
// told so yet; there is nobody to read it where the connection broke.
func (s *socket) broken() {
	s.close(closing{websocket.StatusProtocolError, "A frame breaks RFC 6455; a harness must mask its frames, and tell their lengths truly."})
}

// close tells the harness why the socket ends and waits for the harness to close it too, for a bounded time: afterwards it cuts the
// connection, whatever the harness is still sending. A socket is closed once; later closings wait for the first.
func (s *socket) close(why closing) {
	defer time.AfterFunc(s.times.close, func() { _ = s.under.Close() }).Stop()
	_ = s.Close(why.status, doors.Beginning(why.reason, longestReason))
}
