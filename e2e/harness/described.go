package harness

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"openintent/e2e/described"
)

// describing is a transport that holds each call over REST to the OpenAPI document. A call in which something is otherwise fails the test.
type describing struct {
	*http.Transport
	document *described.Document
	tb       testing.TB

	mutex sync.Mutex
	// over is true once the test may not be failed any more.
	over bool
}

// largestChecked is the size of the largest body that is checked. Larger ones are lists of many of the same.
const largestChecked = 256 << 10

func describe(tb testing.TB, transport *http.Transport) *describing {
	tb.Helper()
	document, err := described.Written()
	if err != nil {
		tb.Fatal(err)
	}
	d := &describing{Transport: transport, document: document, tb: tb}
	tb.Cleanup(func() {
		d.mutex.Lock()
		defer d.mutex.Unlock()
		d.over = true
	})
	return d
}

// RoundTrip makes a call. Its answer is checked when it was read to its end, and an event when it came.
func (d *describing) RoundTrip(request *http.Request) (*http.Response, error) {
	path := request.URL.EscapedPath()
	if isCompatible(request) || !strings.HasPrefix(path, "/v1/") && !strings.HasPrefix(path, "/api/v1/") {
		return d.Transport.RoundTrip(request)
	}
	call := described.Call{Verb: request.Method, Path: path}
	if request.GetBody != nil {
		if sent, err := request.GetBody(); err == nil {
			call.Sent, _ = io.ReadAll(sent)
		}
	}
	response, err := d.Transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	call.Status, call.Header = response.StatusCode, response.Header
	response.Body = &checkedBody{
		ReadCloser: response.Body, d: d, call: call, isStream: response.Header.Get("Content-Type") == "text/event-stream",
	}
	return response, nil
}

// isCompatible reports whether a request asks for the forms of existing clients, which the document does not describe.
func isCompatible(request *http.Request) bool {
	return request.Header.Get("X-API-Key") == CompatibilityKey || request.Header.Get("X-OpenIntent-Compat") != ""
}

func (d *describing) report(err error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if err != nil && !d.over {
		d.tb.Error(err)
	}
}

// checkedBody is the body of an answer.
type checkedBody struct {
	io.ReadCloser
	d        *describing
	call     described.Call
	isStream bool
	// read is what was read: of a stream, what follows the last whole event.
	read []byte
}

// Read reads, and checks what is complete.
func (b *checkedBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if len(b.read) <= largestChecked {
		b.read = append(b.read, into[:n]...)
	}
	switch {
	case b.isStream:
		b.checkEvents()
	case err == io.EOF && len(b.read) <= largestChecked:
		b.call.Body = b.read
		b.d.report(b.d.document.Check(b.call))
	}
	return n, err
}

func (b *checkedBody) checkEvents() {
	for {
		event, rest, whole := bytes.Cut(b.read, []byte("\n\n"))
		if !whole {
			return
		}
		b.read = rest
		var name string
		for line := range strings.SplitSeq(string(event), "\n") {
			if value, ok := strings.CutPrefix(line, "event: "); ok {
				name = value
			}
			if value, ok := strings.CutPrefix(line, "data: "); ok {
				b.d.report(b.d.document.CheckEvent(b.call.Path, name, []byte(value)))
			}
		}
	}
}
