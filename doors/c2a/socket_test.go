package c2a

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"openintent/doors"
)

// stranger is a harness that writes frames byte by byte.
type stranger struct {
	net.Conn
	in *bufio.Reader
	// over says why the door's side of the connection ended.
	over chan error
	// held is how many bytes count as sent and not yet read.
	held atomic.Int64
}

func (s *stranger) Hold(bytes int64) bool {
	s.held.Add(bytes)
	return true
}

func (s *stranger) HoldAnswer(int64) {}
func (s *stranger) Account() any     { return nil }

// meet opens a WebSocket at a door with these times and a bound of a thousand bytes for a message.
func meet(t *testing.T, of times) *stranger {
	t.Helper()
	s := &stranger{over: make(chan error, 1)}
	door := New(Config{MaxMessageBytes: 1000})
	door.times = of
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		taken, err := door.accept(w, r.WithContext(doors.WithMemory(r.Context(), s)))
		if err == nil {
			err = door.serve(r.Context(), &doors.Caller{Agent: "bob", Subscriptions: &contract{}}, taken)
		}
		s.over <- err
	}))
	t.Cleanup(server.Close)
	var err error
	s.Conn, err = (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	s.in = bufio.NewReader(s.Conn)
	s.writes(t, "GET /c2a HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
	response, err := http.ReadResponse(s.in, nil)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusSwitchingProtocols, response.StatusCode)
	return s
}

func (s *stranger) writes(t *testing.T, text string) {
	t.Helper()
	_, err := io.WriteString(s, text)
	require.NoError(t, err)
}

// frameOf is a frame with a mask of zeros, which leaves the content as it is.
func frameOf(first byte, content string) string {
	if len(content) < 126 {
		return string([]byte{first, 0x80 | byte(len(content)), 0, 0, 0, 0}) + content
	}
	head := binary.BigEndian.AppendUint64([]byte{first, 0xff}, uint64(len(content)))
	return string(append(head, 0, 0, 0, 0)) + content
}

// closed returns the status and the reason with which the door closes.
func (s *stranger) closed(t *testing.T) (status websocket.StatusCode, reason string) {
	t.Helper()
	require.NoError(t, s.SetReadDeadline(time.Now().Add(patience)))
	head := make([]byte, 2)
	_, err := io.ReadFull(s.in, head)
	require.NoError(t, err, "the door says why it closes")
	require.EqualValues(t, 0x88, head[0], "the next frame closes")
	content := make([]byte, head[1])
	_, err = io.ReadFull(s.in, content)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(content), 2)
	return websocket.StatusCode(binary.BigEndian.Uint16(content)), string(content[2:])
}

// leaves answers the closing, and waits until the door's side is over.
func (s *stranger) leaves(t *testing.T, answer string) {
	t.Helper()
	_, _ = io.WriteString(s, answer)
	select {
	case err := <-s.over:
		t.Log("the door's side ended: ", err)
		require.Zero(t, s.held.Load(), "what was held is given back")
	case <-time.After(patience):
		require.Fail(t, "the door holds on to a connection that is closed")
	}
}

// The first bytes of frames.
const (
	textFrame, textBegin = 0x81, 0x01
	goesOn, closeFrame   = 0x80, 0x88
	pingFrame            = 0x89
)

// A harness whose frames break the protocol is told with the status that the protocol has for it.
func TestFramesThatBreakTheProtocol(t *testing.T) {
	broken := websocket.StatusProtocolError
	for what, given := range map[string]struct {
		sent   string
		status websocket.StatusCode
	}{
		"no mask":                            {"\x81\x02{}", broken},
		"a length below zero":                {"\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00", broken},
		"a reserved bit":                     {frameOf(textFrame|0x40, "{}"), broken},
		"another reserved bit":               {frameOf(textFrame|0x10, "{}"), broken},
		"a kind of data that is reserved":    {frameOf(0x83, "{}"), broken},
		"a kind of control that is reserved": {frameOf(0x8b, ""), broken},
		"a ping in parts":                    {frameOf(pingFrame&^0x80, "x"), broken},
		"a long ping":                        {frameOf(pingFrame, strings.Repeat("x", 126)), broken},
		"a continuation of nothing":          {frameOf(goesOn, "{}"), broken},
		"a text within a text":               {frameOf(textBegin, "{") + frameOf(textFrame, "{}"), broken},
		"no mask within a text":              {frameOf(textBegin, "{") + "\x80\x01}", broken},
		"a status of one byte":               {frameOf(closeFrame, "x"), broken},
		"a status that nobody may send":      {frameOf(closeFrame, "\x03\xed"), broken},
		"binary data":                        {frameOf(0x82, "{}"), websocket.StatusUnsupportedData},
		"no UTF-8":                           {frameOf(textFrame, "\"\xc3\x28\""), websocket.StatusInvalidFramePayloadData},
		"half a letter":                      {frameOf(textBegin, "\xe2\x82") + frameOf(goesOn, ""), websocket.StatusInvalidFramePayloadData},
		"a large message":                    {frameOf(textFrame, strings.Repeat("x", 1001)), websocket.StatusMessageTooBig},
		"a message that is large in parts":   {frameOf(textBegin, strings.Repeat("x", 600)) + frameOf(goesOn, strings.Repeat("x", 600)), websocket.StatusMessageTooBig},
		"more than there is, by its length":  {"\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00" + strings.Repeat("x", 2*pieceBytes), websocket.StatusMessageTooBig},
	} {
		t.Run(what, func(t *testing.T) {
			of := long
			of.close = patience
			s := meet(t, of)
			s.writes(t, given.sent)
			status, reason := s.closed(t)
			require.Equal(t, given.status, status, reason)
			require.NotEmpty(t, reason)
			_ = s.CloseWrite()
			s.leaves(t, "")
		})
	}
}

// CloseWrite ends what the stranger sends.
func (s *stranger) CloseWrite() error { return s.Conn.(*net.TCPConn).CloseWrite() }

// A letter may be spread over the parts of a message, and a control frame may come between them.
func TestAMessageInParts(t *testing.T) {
	s := meet(t, long)
	s.writes(t, frameOf(textBegin, "[\"\xe2\x82")+frameOf(pingFrame, "x")+frameOf(goesOn, "\xac\"]"))
	pong := make([]byte, 3)
	_, err := io.ReadFull(s.in, pong)
	require.NoError(t, err)
	require.Equal(t, "\x8a\x01x", string(pong))
	head := make([]byte, 2)
	_, err = io.ReadFull(s.in, head)
	require.NoError(t, err)
	require.EqualValues(t, textFrame, head[0], "the message was taken, and is answered")
	s.leaves(t, frameOf(closeFrame, "\x03\xe8"))
}

// A harness that does not answer the closing of its connection is cut off, also amid a frame that never ends.
func TestAClosingThatIsNotAnswered(t *testing.T) {
	for what, sent := range map[string]string{
		"nothing":                        "",
		"a frame without end":            "\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00x",
		"half a header":                  "\x82",
		"the rest of a frame never ends": "\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00" + strings.Repeat("x", 2*pieceBytes),
	} {
		t.Run(what, func(t *testing.T) {
			of := long
			of.close, of.initialize = time.Millisecond, time.Millisecond
			s := meet(t, of)
			_, _ = io.WriteString(s, sent) // the door may have cut it off meanwhile
			s.leaves(t, "")
		})
	}
}
