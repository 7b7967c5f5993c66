package harness

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// Answer is an answer over REST.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Decode reads the JSON body into a value.
func (a Answer) Decode(tb testing.TB, into any) {
	tb.Helper()
	if err := json.Unmarshal(a.Body, into); err != nil {
		tb.Fatalf("the answer %d is not the JSON that was expected: %v\n%s", a.Status, err, a.Body)
	}
}

// Request makes a request to the server with the caller's identity; path begins with a slash. A non-empty body is
// sent as JSON.
func (c *Caller) Request(ctx context.Context, method, path, body string) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.clients.BaseURL()+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	c.identify(request.Header)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	return request, nil
}

// identify adds the caller's identity to the headers of a request.
func (c *Caller) identify(headers http.Header) {
	if c.Key != "" {
		headers.Set("X-API-Key", c.Key)
	}
	if c.Agent != "" {
		headers.Set("X-Agent-ID", c.Agent)
	}
}

// HTTPClient returns a client for the REST port that adds the caller's identity to each request.
func (c *Caller) HTTPClient() *http.Client { return &http.Client{Transport: identifying{c}} }

// identifying sends requests with a caller's identity.
type identifying struct{ caller *Caller }

// RoundTrip sends one request.
func (i identifying) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	i.caller.identify(r.Header)
	return i.caller.clients.HTTP.Transport.RoundTrip(r)
}

// REST makes a call over REST and reads the whole answer, whatever its status. Pairs of header names and values may follow.
func (c *Caller) REST(tb testing.TB, method, path, body string, headers ...string) Answer {
	tb.Helper()
	request, err := c.Request(tb.Context(), method, path, body)
	if err != nil {
		tb.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := c.clients.HTTP.Do(request)
	if err != nil {
		tb.Fatalf("%s %s: %v", method, path, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		tb.Fatalf("%s %s: reading the answer: %v", method, path, err)
	}
	return Answer{response.StatusCode, response.Header, text}
}
