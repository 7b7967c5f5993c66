//go:build console

package browser

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintent "openintent/sdk/go"
)

// A page of another origin changes nothing, ends no session and learns nothing, though the browser sends it the cookie.
func TestPagesOfOtherOriginsDoNothing(t *testing.T) {
	browser := chromium(t)
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		require.Empty(t, attack(t, h, h.BaseURL(), browser))
	})
}

// The attack finds what it looks for where somebody has made the holes: a cookie that counts alone, whatever page sends it, answers that every page
// may read, and pages that every page may frame.
func TestTheAttackFindsHoles(t *testing.T) {
	browser := chromium(t)
	h := harness.Start(t, harness.Options{})
	found := strings.Join(attack(t, h, withHoles(t, h.BaseURL()), browser), "\n")
	for _, hole := range []string{
		"another port, forms: it has changed something", "another port, fetches: it has changed something", "another port, beacons: it has changed something",
		"another port, fetches: the page reads an answer", "another port, worker: the page reads an answer", "another port, streams: it has opened",
		"another port, frames: the console is in a frame", "another port, ending: it has ended the session",
		"another port, fetches: the page sees whether somebody is signed in",
	} {
		require.Contains(t, found, hole)
	}
}

// attack lets a page of another origin try everything against the console at an address, and returns what it has achieved.
func attack(t *testing.T, h *harness.Server, console, browser string) (found []string) {
	t.Helper()
	channel := deployments(t, h)
	_, err := channel.Send(t.Context(), openintent.Draft{
		To: person, MessageType: openintent.Request, Payload: map[string]any{"text": "May I deploy?"},
	})
	require.NoError(t, err)
	output := run(t, h, "attacks.mjs", "OPENINTENT_TEST_CHROMIUM="+browser, "PERSONS_KEY="+personsKey(t, h), "PERSON="+person,
		"CHANNEL="+channel.ID, "CONSOLE_URL="+console)
	_, list, ended := strings.Cut(output, "FOUND ")
	require.True(t, ended, "the script says what it has found")
	require.NoError(t, json.Unmarshal([]byte(list), &found))
	return found
}

// askedBy carries the origin of the page that asks past the server, which must not see it.
const askedBy = "X-Asked-By"

// holes is a proxy that makes a server careless: it adds to every cookie the secret that belongs to it, hides where a request comes from, and lets
// every page read and frame what is answered.
type holes struct {
	mutex   sync.Mutex
	secrets map[string]string
}

// withHoles starts a proxy with holes in front of a server, and returns its address.
func withHoles(t *testing.T, address string) string {
	t.Helper()
	to, err := url.Parse(address)
	require.NoError(t, err)
	h := &holes{secrets: make(map[string]string)}
	proxy := &httputil.ReverseProxy{FlushInterval: -1, ModifyResponse: h.answer, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host
		r.Out.Header.Set(askedBy, r.In.Header.Get("Origin"))
		h.careless(r.Out)
	}}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodOptions {
			letIn(w.Header(), r.Header.Get("Origin"))
			w.WriteHeader(http.StatusNoContent)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	return front.URL
}

// careless makes a request one that the server accepts.
func (h *holes) careless(r *http.Request) {
	r.Header.Del("Origin")
	r.Header.Del("Sec-Fetch-Site")
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, cookie := range r.Cookies() {
		if secret := h.secrets[cookie.Value]; secret != "" && r.Header.Get("X-OpenIntent-Console") != "sign-in" {
			r.Header.Set("X-OpenIntent-Console", secret)
		}
	}
}

// answer learns the secrets of sessions that begin, and lets every page read and frame the answer.
func (h *holes) answer(r *http.Response) error {
	r.Header.Del("Content-Security-Policy")
	r.Header.Del("Cross-Origin-Opener-Policy")
	letIn(r.Header, r.Request.Header.Get(askedBy))
	if r.StatusCode != http.StatusCreated || r.Request.URL.Path != "/console/session" {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	var begun harness.SignedIn
	if err := json.Unmarshal(body, &begun); err != nil {
		return err
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, cookie := range r.Cookies() {
		h.secrets[cookie.Value] = begun.Secret
	}
	return nil
}

// letIn lets the page that asks read an answer, with cookies.
func letIn(answer http.Header, origin string) {
	answer.Set("Access-Control-Allow-Origin", origin)
	answer.Set("Access-Control-Allow-Credentials", "true")
	answer.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
	answer.Set("Access-Control-Allow-Headers", "content-type, x-openintent-console")
}
