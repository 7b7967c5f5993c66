package c2a

import (
	"bufio"
	"context"
	"io"
	"sync"
)

// lines is standard input and output: one message a line.
type lines struct {
	in    *bufio.Scanner
	out   io.Writer
	mutex sync.Mutex
	// closed ends the reading.
	closed chan struct{}
	once   sync.Once
}

// newLines returns the transport of a harness that starts a program: one message a line, of at most so many bytes.
func newLines(in io.Reader, out io.Writer, most int) *lines {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(make([]byte, 0, pieceBytes), most)
	return &lines{in: scanner, out: out, closed: make(chan struct{})}
}

func (l *lines) read(context.Context) ([]byte, func(), error) {
	var text []byte
	var err error
	scanned := make(chan struct{})
	go func() {
		defer close(scanned)
		for l.in.Scan() {
			if text = l.in.Bytes(); len(text) > 0 {
				return
			}
		}
		if err = l.in.Err(); err == nil {
			err = io.EOF
		}
	}()
	select {
	case <-scanned:
		return text, func() {}, err
	case <-l.closed: // nobody reads on
		return nil, nil, io.EOF
	}
}

func (l *lines) write(_ context.Context, text []byte) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	_, err := l.out.Write(append(text, '\n'))
	return err
}

func (l *lines) alive(context.Context) error { return nil }

func (l *lines) close(closing) { l.once.Do(func() { close(l.closed) }) }
