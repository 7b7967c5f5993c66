package harness

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// consoleHeader carries the secret of a page, or says that somebody signs in.
const consoleHeader = "X-OpenIntent-Console"

// Browser is a browser with a page of the web console in it.
type Browser struct {
	// Cookies are those that the browser has.
	Cookies []*http.Cookie
	// Secret is what the page has.
	Secret string
	// SignedIn is what the page has learnt of who is signed in.
	SignedIn SignedIn

	at *Clients
	// host is the name by which the browser knows the server; empty for the server's own.
	host string
}

// SignedIn is who is signed in at the console.
type SignedIn struct {
	AgentID  string `json:"agent_id"`
	Human    bool   `json:"human"`
	Operator bool   `json:"operator"`
	ReadOnly bool   `json:"read_only"`
	Secret   string `json:"console_secret"`
}

// Browser opens a browser at the server.
func (c *Clients) Browser() *Browser { return &Browser{at: c} }

// At returns the browser as it is when something in front of several servers leads it to another one, under the same name.
func (b *Browser) At(other *Clients) *Browser {
	moved := *b
	if moved.at = other; moved.host == "" {
		_, moved.host, _ = strings.Cut(b.at.BaseURL(), "://")
	}
	return &moved
}

// Named makes the browser know the server by another name.
func (b *Browser) Named(host string) *Browser {
	b.host = host
	return b
}

// Origin is the origin of the console's page.
func (b *Browser) Origin() string { return b.at.BaseURL() }

// PlainCookie is the name of the cookie without TLS.
func (b *Browser) PlainCookie() string {
	return "openintent_session_" + b.at.BaseURL()[strings.LastIndex(b.at.BaseURL(), ":")+1:]
}

// SignIn signs in at the console with a body, which must succeed.
func (c *Clients) SignIn(tb testing.TB, body string) *Browser {
	tb.Helper()
	b := c.Browser()
	if answer := b.SignIn(tb, body); answer.Status != http.StatusCreated {
		tb.Fatalf("signing in: %d %s", answer.Status, answer.Body)
	}
	return b
}

// SignIn signs in with a body, and keeps what the server gives.
func (b *Browser) SignIn(tb testing.TB, body string, headers ...string) Answer {
	tb.Helper()
	answer := b.Send(tb, http.MethodPost, "/console/session", body, append([]string{consoleHeader, "sign-in"}, headers...)...)
	if answer.Status == http.StatusCreated {
		answer.Decode(tb, &b.SignedIn)
		b.Secret = b.SignedIn.Secret
	}
	return answer
}

// REST makes a call as the page does, with the cookie and the secret. Pairs of header names and values may follow.
func (b *Browser) REST(tb testing.TB, method, path, body string, headers ...string) Answer {
	tb.Helper()
	return b.Send(tb, method, path, body, append([]string{consoleHeader, b.Secret}, headers...)...)
}

// Send sends a request with the browser's cookies and these headers alone.
func (b *Browser) Send(tb testing.TB, method, path, body string, headers ...string) Answer {
	tb.Helper()
	client := *b.at.HTTP
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	response, err := client.Do(b.Request(tb, method, path, body, headers...))
	if err != nil {
		tb.Fatalf("%s %s: %v", method, path, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		tb.Fatalf("%s %s: reading the answer: %v", method, path, err)
	}
	b.keep(response.Cookies())
	return Answer{response.StatusCode, response.Header, text}
}

// Request makes a request with the browser's cookies and these headers alone.
func (b *Browser) Request(tb testing.TB, method, path, body string, headers ...string) *http.Request {
	tb.Helper()
	request, err := http.NewRequestWithContext(tb.Context(), method, b.at.BaseURL()+path, strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	request.Host = b.host
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			request.Host = headers[i+1]
			continue
		}
		request.Header.Add(headers[i], headers[i+1])
	}
	for _, cookie := range b.Cookies {
		request.AddCookie(cookie)
	}
	return request
}

// keep does with cookies what their answer says.
func (b *Browser) keep(set []*http.Cookie) {
	for _, cookie := range set {
		var others []*http.Cookie
		for _, other := range b.Cookies {
			if other.Name != cookie.Name {
				others = append(others, other)
			}
		}
		if b.Cookies = others; cookie.MaxAge >= 0 {
			b.Cookies = append(b.Cookies, cookie)
		}
	}
}
