package siege

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"openintent/e2e/harness"
)

// attacker speaks HTTP/2 frame by frame, so that it can do what no client library does.
type attacker struct {
	tb         testing.TB
	connection net.Conn
	framer     *http2.Framer
	block      bytes.Buffer
	encoder    *hpack.Encoder
	next       uint32

	mutex sync.Mutex
	// moved is closed and replaced whenever a field below changes.
	moved    chan struct{}
	window   int64
	windows  map[uint32]int64
	statuses map[uint32]string
	ended    error
}

// attack connects to a server's gRPC port and reads everything that the server answers until the test ends.
func attack(tb testing.TB, h *harness.Server, settings ...http2.Setting) *attacker {
	tb.Helper()
	var dialer net.Dialer
	connection, err := dialer.DialContext(context.Background(), "tcp", h.GRPCAddress())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = connection.Close() })
	a := &attacker{
		tb: tb, connection: connection, framer: http2.NewFramer(connection, connection), next: 1,
		moved: make(chan struct{}), window: 65535, windows: make(map[uint32]int64), statuses: make(map[uint32]string),
	}
	a.encoder = hpack.NewEncoder(&a.block)
	a.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if _, err := io.WriteString(connection, http2.ClientPreface); err != nil {
		tb.Fatal(err)
	}
	if err := a.framer.WriteSettings(settings...); err != nil {
		tb.Fatal(err)
	}
	go a.read()
	return a
}

func (a *attacker) read() {
	for {
		frame, err := a.framer.ReadFrame()
		a.mutex.Lock()
		switch f := frame.(type) {
		case *http2.WindowUpdateFrame:
			if f.StreamID == 0 {
				a.window += int64(f.Increment)
			} else {
				a.windows[f.StreamID] += int64(f.Increment)
			}
		case *http2.MetaHeadersFrame:
			for _, field := range f.Fields {
				if field.Name == "grpc-status" {
					a.statuses[f.StreamID] = field.Value
				}
			}
		}
		if err != nil {
			a.ended = err
		}
		close(a.moved)
		a.moved = make(chan struct{})
		a.mutex.Unlock()
		if err != nil {
			return
		}
	}
}

// until waits until a condition on the server's answers so far is true.
func (a *attacker) until(what string, holds func() bool) {
	a.tb.Helper()
	late := time.After(harness.Patience)
	for {
		a.mutex.Lock()
		done, moved := holds(), a.moved
		a.mutex.Unlock()
		if done {
			return
		}
		select {
		case <-moved:
		case <-late:
			a.tb.Fatalf("waiting in vain for: %s", what)
		}
	}
}

// call begins a call and returns the number of its stream. Pairs of header names and values may follow.
func (a *attacker) call(method string, ended bool, headers ...string) (stream uint32, err error) {
	stream = a.next
	a.next += 2
	a.block.Reset()
	headers = append([]string{
		":method", "POST", ":scheme", "http", ":path", method, ":authority", "localhost",
		"content-type", "application/grpc", "te", "trailers",
	}, headers...)
	for i := 0; i < len(headers); i += 2 {
		if err := a.encoder.WriteField(hpack.HeaderField{Name: headers[i], Value: headers[i+1]}); err != nil {
			return 0, err
		}
	}
	a.mutex.Lock()
	a.windows[stream] = 65535
	a.mutex.Unlock()
	return stream, a.framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: stream, BlockFragment: a.block.Bytes(), EndHeaders: true, EndStream: ended,
	})
}

// reset cancels a call.
func (a *attacker) reset(stream uint32) error {
	return a.framer.WriteRSTStream(stream, http2.ErrCodeCancel)
}

// count returns how many calls have ended with a status.
func (a *attacker) count(status string) (count int) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	for _, got := range a.statuses {
		if got == status {
			count++
		}
	}
	return count
}

// These are statuses of gRPC.
const (
	statusDeadline  = "4"
	statusExhausted = "8"
	statusStranger  = "16"
)

var errRefused = errors.New("the server refused the call")

// send sends part of a call's body, as fast as the server accepts it.
func (a *attacker) send(stream uint32, body []byte) error {
	for len(body) > 0 {
		size := int64(0)
		var refused bool
		a.until("room to send", func() bool {
			_, refused = a.statuses[stream]
			refused = refused || a.ended != nil
			size = min(a.window, a.windows[stream], 16384, int64(len(body)))
			return refused || size > 0
		})
		if refused {
			return errRefused
		}
		a.mutex.Lock()
		a.window, a.windows[stream] = a.window-size, a.windows[stream]-size
		a.mutex.Unlock()
		if err := a.framer.WriteData(stream, false, body[:size]); err != nil {
			return errRefused
		}
		body = body[size:]
	}
	return nil
}

// prefix returns the bytes that precede a message of this size.
func prefix(size int) []byte { return binary.BigEndian.AppendUint32([]byte{0}, uint32(size)) }

// residentMB returns how much of the machine's memory a server takes, in MB.
func residentMB(tb testing.TB, h *harness.Server) int {
	tb.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(h.PID(tb)) + "/status")
	if err != nil {
		tb.Fatal(err)
	}
	found := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindStringSubmatch(string(text))
	if found == nil {
		tb.Fatal("the system does not report how much memory a process takes")
	}
	kilobytes, err := strconv.Atoi(found[1])
	if err != nil {
		tb.Fatal(err)
	}
	return kilobytes / 1024
}
