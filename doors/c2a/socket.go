package c2a

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/coder/websocket"

	"openintent/doors"
)

// socket is a WebSocket.
type socket struct {
	*websocket.Conn
	memory doors.Memory
	// most is how many bytes a message may have, and patience how long it may take to arrive once it has begun.
	most     int64
	patience time.Duration
}

// errTooLarge and errHeld end a socket; they close it before they are returned.
var (
	errTooLarge = errors.New("a message is larger than this door takes")
	errHeld     = errors.New("unfinished messages take all the memory that is set aside for them")
)

// longestReason is how many bytes of a reason a closing WebSocket carries.
const longestReason = 123

// pieceBytes is by how much the room for an arriving message grows.
const pieceBytes = 16 << 10

func (s *socket) read(ctx context.Context) (text []byte, done func(), _ error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	kind, from, err := s.Reader(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer time.AfterFunc(s.patience, cancel).Stop()
	if kind != websocket.MessageText {
		s.close(closing{websocket.StatusUnsupportedData, "This door takes text messages only."})
		return nil, nil, errors.New("a message is not text")
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
		case errors.Is(err, io.EOF):
			return text, done, nil
		case err != nil:
			done()
			return nil, nil, err
		}
	}
}

func (s *socket) write(ctx context.Context, text []byte) error {
	return s.Write(ctx, websocket.MessageText, text)
}

func (s *socket) alive(ctx context.Context) error { return s.Ping(ctx) }

func (s *socket) close(why closing) {
	_ = s.Close(why.status, doors.Beginning(why.reason, longestReason))
}
