package server

import "encoding/binary"

// These are the frames of HTTP/2 (RFC 9113, section 6) that matter to calls.
const (
	frameData    = 0x0
	frameHeaders = 0x1
	frameReset   = 0x3

	flagEndStream = 0x1
	flagPadded    = 0x8

	frameHeaderBytes = 9
	// prefaceBytes is the length of what a client sends before its first frame.
	prefaceBytes = 24
)

// frame is the head of one frame.
type frame struct {
	kind, flags byte
	stream      uint32
	// size is the length of the payload in bytes.
	size int
}

// frameObserver is notified of the frames that pass.
type frameObserver interface {
	// begins is called before a frame's payload.
	begins(f frame)
	// carries is called for each piece of a frame's payload.
	carries(f frame, piece []byte)
	// ends is called after a frame's payload.
	ends(f frame)
}

// frameFollower follows one direction of a connection as its bytes pass, in pieces of any size. It changes nothing.
type frameFollower struct {
	to frameObserver
	// skip is how many bytes pass before the first frame.
	skip int
	head [frameHeaderBytes]byte
	// have is how many bytes of the head have passed, and left is how many bytes of the payload are still to come.
	have int
	left int
	frame
}

// follow takes the next bytes.
func (f *frameFollower) follow(piece []byte) {
	skipped := min(f.skip, len(piece))
	f.skip -= skipped
	piece = piece[skipped:]
	for len(piece) > 0 {
		if f.have < frameHeaderBytes {
			n := copy(f.head[f.have:], piece)
			f.have += n
			piece = piece[n:]
			if f.have < frameHeaderBytes {
				return
			}
			f.begin()
		}
		n := min(f.left, len(piece))
		if n > 0 {
			f.to.carries(f.frame, piece[:n])
			f.left -= n
			piece = piece[n:]
		}
		if f.left == 0 {
			f.to.ends(f.frame)
			f.have = 0
		}
	}
}

func (f *frameFollower) begin() {
	f.size = int(f.head[0])<<16 | int(f.head[1])<<8 | int(f.head[2])
	f.kind, f.flags = f.head[3], f.head[4]
	f.stream = binary.BigEndian.Uint32(f.head[5:]) &^ (1 << 31)
	f.left = f.size
	f.to.begins(f.frame)
}

// isCall reports whether a frame belongs to a call and not to the connection as a whole.
func (f frame) isCall() bool { return f.stream != 0 && f.kind <= frameReset }

func (f frame) has(flag byte) bool { return f.flags&flag != 0 }

// bufferBytes is the memory that gRPC keeps for a data frame: a buffer of the next larger size that it has, and the
// overhead to manage it.
func (f frame) bufferBytes() int64 {
	const bookkeeping = 64
	switch {
	case f.size <= 1<<10:
		return int64(f.size) + bookkeeping
	case f.size <= 4<<10:
		return 4<<10 + bookkeeping
	}
	return max(16<<10, int64(f.size)) + bookkeeping
}

// messageFollower finds the messages in the data of one call: a byte of flags and the length precede each message.
type messageFollower struct {
	prefix   [5]byte
	prefixed int
	// left is how many bytes of the message are still to come.
	left int64
	// complete counts the messages that have passed.
	complete int
}

// follow takes the next bytes of data and reports whether a message ended within them.
func (m *messageFollower) follow(piece []byte) (ended bool) {
	for len(piece) > 0 {
		if m.prefixed < len(m.prefix) {
			n := copy(m.prefix[m.prefixed:], piece)
			m.prefixed += n
			piece = piece[n:]
			if m.prefixed < len(m.prefix) {
				return ended
			}
			m.left = int64(binary.BigEndian.Uint32(m.prefix[1:]))
		}
		n := min(m.left, int64(len(piece)))
		m.left -= n
		piece = piece[n:]
		if m.left == 0 {
			m.prefixed, ended = 0, true
			m.complete++
		}
	}
	return ended
}

// within reports whether a message has begun and not ended.
func (m *messageFollower) within() bool { return m.prefixed > 0 }
