package webhooks

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// local allows the addresses that tests can reach.
const local = "127.0.0.0/8"

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// nowhere is the sentence for names that cannot be resolved and for names with an internal address. It does not reveal which of
// the two a name is.
const nowhere = "The endpoint's name could not be resolved, or its address is private or reserved and not allowed here."

func serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

// raw serves connections by hand: it reads the request and then calls speak. Connections end with the test.
func raw(t *testing.T, speak func(connection net.Conn)) (rawURL string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var connections sync.WaitGroup
	t.Cleanup(func() {
		_ = listener.Close()
		connections.Wait()
	})
	connections.Go(func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Go(func() {
				defer func() { _ = connection.Close() }()
				request, err := http.ReadRequest(bufio.NewReader(connection))
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, request.Body)
				speak(connection)
			})
		}
	})
	return "http://" + listener.Addr().String()
}

// untilClosed waits until the other side closes the connection.
func untilClosed(connection net.Conn) { _, _ = io.Copy(io.Discard, connection) }

func to(rawURL string) Request {
	return Request{
		URL: rawURL, Secret: NewSecret(), ID: "sub_1_1", Body: func(context.Context) []byte { return []byte(`{"a":1}`) },
	}
}

func TestAPostIsSignedAndDelivered(t *testing.T) {
	for _, status := range []int{200, 201, 202, 204, 299} {
		requests := make(chan *http.Request, 1)
		bodies := make(chan string, 1)
		server := serve(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			requests <- r
			bodies <- string(body)
			w.WriteHeader(status)
		})
		s := newSender(t, Config{AllowedNetworks: local, Version: "1.2.3", Now: func() time.Time { return noon }})
		request := to(server.URL + "/hook?key=a%20b")
		assert.Equal(t, Result{Delivered: true, Status: status}, s.Post(t.Context(), request))

		got := <-requests
		assert.Equal(t, http.MethodPost, got.Method)
		assert.Equal(t, "/hook?key=a%20b", got.RequestURI)
		assert.Equal(t, "application/json", got.Header.Get("Content-Type"))
		assert.Equal(t, "openintent/1.2.3", got.Header.Get("User-Agent"))
		assert.Equal(t, "sub_1_1", got.Header.Get("webhook-id"))
		assert.Equal(t, strconv.FormatInt(noon.Unix(), 10), got.Header.Get("webhook-timestamp"))
		signature, err := sign(request.Secret, request.ID, noon, []byte(`{"a":1}`))
		require.NoError(t, err)
		assert.Equal(t, signature, got.Header.Get("webhook-signature"))
		assert.Equal(t, `{"a":1}`, <-bodies)
	}
}

func TestWhatEndpointsAnswerIsJudgedByItsStatus(t *testing.T) {
	for status, expected := range map[int]Result{
		300: {Problem: "The endpoint answered 300; redirects are not followed."},
		304: {Problem: "The endpoint answered 304; redirects are not followed."},
		400: {Problem: "The endpoint answered 400."},
		404: {Problem: "The endpoint answered 404."},
		410: {Problem: "The endpoint answered 410: it is gone.", Gone: true},
		408: {Problem: "The endpoint answered 408.", RetryAfter: 7 * time.Second},
		429: {Problem: "The endpoint answered 429.", RetryAfter: 7 * time.Second},
		500: {Problem: "The endpoint answered 500.", RetryAfter: 7 * time.Second},
		503: {Problem: "The endpoint answered 503.", RetryAfter: 7 * time.Second},
		999: {Problem: "The endpoint answered 999."},
	} {
		server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			if expected.RetryAfter > 0 {
				w.Header().Set("Retry-After", "7")
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "internal secrets")
		})
		expected.Status = status
		assert.Equal(t, expected, newSender(t, Config{AllowedNetworks: local}).Post(t.Context(), to(server.URL)))
	}
}

func TestADateInRetryAfterIsReadByTheSendersClock(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", noon.Add(90*time.Second).Format(http.TimeFormat))
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	s := newSender(t, Config{AllowedNetworks: local, Now: func() time.Time { return noon }})
	assert.Equal(t, 90*time.Second, s.Post(t.Context(), to(server.URL)).RetryAfter)
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		var followed atomic.Bool
		target := serve(t, func(http.ResponseWriter, *http.Request) { followed.Store(true) })
		server := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target.URL, status) })
		result := newSender(t, Config{AllowedNetworks: local}).Post(t.Context(), to(server.URL))
		assert.Equal(t, fmt.Sprintf("The endpoint answered %d; redirects are not followed.", status), result.Problem)
		assert.False(t, result.Delivered)
		assert.False(t, followed.Load())
	}
}

func TestEndpointsThatHangAreGivenUp(t *testing.T) {
	for name, speak := range map[string]func(net.Conn){
		"nothing":    untilClosed,
		"half ahead": func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nX-Slow: "); untilClosed(c) },
		"endless interim answers": func(c net.Conn) {
			for {
				if _, err := io.WriteString(c, "HTTP/1.1 102 Processing\r\n\r\n"); err != nil {
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSender(t, Config{AllowedNetworks: local, Timeout: 50 * time.Millisecond})
			result := s.Post(t.Context(), to(raw(t, speak)))
			assert.False(t, result.Delivered)
			assert.False(t, result.PutOff)
			assert.Contains(t, []string{
				"The endpoint did not answer in time.", "The connection broke before the endpoint answered.",
			}, result.Problem)
		})
	}
}

func TestAnswersThatBreakOffAreFailures(t *testing.T) {
	for name, words := range map[string]string{
		"at once":       "",
		"in the status": "HTTP/1.1 20",
		"in the header": "HTTP/1.1 200 OK\r\nContent-Le",
		"no HTTP":       "SSH-2.0-OpenSSH_9.9\r\n",
		"huge header":   "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			rawURL := raw(t, func(c net.Conn) { _, _ = io.WriteString(c, words) })
			result := newSender(t, Config{AllowedNetworks: local}).Post(t.Context(), to(rawURL))
			assert.Equal(t, Result{Problem: "The connection broke before the endpoint answered."}, result)
		})
	}
}

func TestTheStatusDecidesWhateverBecomesOfTheBody(t *testing.T) {
	for name, speak := range map[string]func(net.Conn){
		"broken off": func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhal") },
		"dripping": func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nh")
			untilClosed(c)
		},
		"endless": func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
			for {
				if _, err := c.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		},
		"compressed": func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSender(t, Config{AllowedNetworks: local, Timeout: time.Hour})
			posted := make(chan Result, 1)
			rawURL := raw(t, speak)
			go func() { posted <- s.Post(t.Context(), to(rawURL)) }()
			select {
			case result := <-posted:
				assert.Equal(t, Result{Delivered: true, Status: 200}, result)
			case <-time.After(patience):
				assert.Fail(t, "the post waits for the end of the body")
			}
		})
	}
}

func TestANameThatLeadsToAReservedAddressIsRefusedWhenConnecting(t *testing.T) {
	var reached atomic.Bool
	server := serve(t, func(http.ResponseWriter, *http.Request) { reached.Store(true) })
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)

	// The test has its own resolver, which resolves every name to this machine, as a rebinding name server would.
	s := newSender(t, Config{})
	resolver := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go answerLoopback(there)
		return here, nil
	}}
	dialer := &net.Dialer{Resolver: resolver, Control: s.guard.control}
	s.transport = s.newTransport(dialer.DialContext)

	rawURL := "http://rebinding.example:" + port + "/hook"
	require.NoError(t, s.Check(rawURL), "the text of the URL shows nothing wrong")
	assert.Equal(t, Result{Problem: nowhere}, s.Post(t.Context(), to(rawURL)))
	assert.False(t, reached.Load())

	// The same name reaches the server once the network is allowed, so it was the guard that refused.
	s.guard.allowed = prefixes(local)
	dialer.Control = s.guard.control
	assert.True(t, s.Post(t.Context(), to(rawURL)).Delivered)
	assert.True(t, reached.Load())

	// A Sender connects with the guard of its configuration.
	_, err = newSender(t, Config{}).transport.DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	assert.ErrorIs(t, err, errForbidden)
}

// answerLoopback is a name server on one connection, which resolves every name to 127.0.0.1.
func answerLoopback(connection net.Conn) {
	defer func() { _ = connection.Close() }()
	for {
		// A pipe is not a packet connection, so the resolver sends each message after its length, as over TCP.
		length := make([]byte, 2)
		if _, err := io.ReadFull(connection, length); err != nil {
			return
		}
		query := make([]byte, int(length[0])<<8|int(length[1]))
		if _, err := io.ReadFull(connection, query); err != nil {
			return
		}
		answer := loopbackAnswer(query)
		if _, err := connection.Write(append([]byte{byte(len(answer) >> 8), byte(len(answer))}, answer...)); err != nil {
			return
		}
	}
}

// loopbackAnswer answers a query for an IPv4 address with 127.0.0.1 and any other with nothing.
func loopbackAnswer(query []byte) []byte {
	end := 12
	for query[end] != 0 {
		end += int(query[end]) + 1
	}
	end += 5 // the end of the name, type, class
	answer := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, query[12:end]...)
	if query[end-3] == 1 { // type A
		answer[7] = 1
		answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1)
	}
	return answer
}

func TestWhatTheNetworkSaysStaysInside(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	nobody := "http://" + listener.Addr().String()
	require.NoError(t, listener.Close())
	s := newSender(t, Config{AllowedNetworks: local})
	assert.Equal(t, Result{Problem: "The connection to the endpoint could not be made."}, s.Post(t.Context(), to(nobody)))

	stranger := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(stranger.Close)
	assert.Equal(t, Result{Problem: "The endpoint's TLS certificate could not be verified."},
		s.Post(t.Context(), to(stranger.URL)))

	s.transport = s.newTransport(func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "x", Server: "10.0.0.53:53"}}
	})
	assert.Equal(t, Result{Problem: nowhere}, s.Post(t.Context(), to(nobody)))
}

func TestNoProxyStandsBetween(t *testing.T) {
	assert.Nil(t, newSender(t, Config{}).transport.Proxy)
}

func TestASecretOfAnotherFormIsSaidAndNotShown(t *testing.T) {
	request := to("https://example.com/hook")
	request.Secret = "whsec_short"
	result := newSender(t, Config{}).Post(t.Context(), request)
	assert.Equal(t, "The request could not be signed: the webhook's secret is not of the form whsec_ and base64.", result.Problem)
}

func TestAFailingEndpointIsLeftAloneAndFoundAgain(t *testing.T) {
	var requests atomic.Int32
	var healthy atomic.Bool
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/neighbour" {
			return
		}
		requests.Add(1)
		if !healthy.Load() {
			w.WriteHeader(http.StatusBadGateway)
		}
	})
	other := serve(t, func(http.ResponseWriter, *http.Request) {})
	now := noon
	s := newSender(t, Config{AllowedNetworks: local, Now: func() time.Time { return now }})

	for range failuresToOpen {
		assert.Equal(t, http.StatusBadGateway, s.Post(t.Context(), to(server.URL)).Status)
	}
	assert.Equal(t, firstPause, s.Resting(server.URL+"/"))
	assert.Equal(t, Result{
		PutOff: true, RetryAfter: firstPause, Problem: "The endpoint failed too often and is left alone for a while.",
	}, s.Post(t.Context(), to(server.URL)))
	assert.EqualValues(t, failuresToOpen, requests.Load())
	assert.True(t, s.Post(t.Context(), to(other.URL)).Delivered)
	assert.True(t, s.Post(t.Context(), to(server.URL+"/neighbour")).Delivered, "another agent's endpoint on the same host still gets posts")
	assert.Equal(t, firstPause, s.Resting(server.URL), "the success there does not close the circuit of this one")

	now = now.Add(firstPause)
	assert.Zero(t, s.Resting(server.URL))
	assert.False(t, s.Post(t.Context(), to(server.URL)).PutOff, "one probe")
	assert.Equal(t, 2*firstPause, s.Resting(server.URL))

	now = now.Add(2 * firstPause)
	healthy.Store(true)
	assert.True(t, s.Post(t.Context(), to(server.URL)).Delivered)
	assert.Zero(t, s.Resting(server.URL))
}

// An endpoint that refuses single posts works. One that says that it has too much to do, or that it is broken, is left alone.
func TestRefusalsOfSinglePostsDoNotOpenTheCircuit(t *testing.T) {
	for status, opens := range map[int]bool{302: false, 400: false, 404: false, 410: false, 499: false, 429: true, 500: true, 503: true} {
		server := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		s := newSender(t, Config{AllowedNetworks: local})
		for range failuresToOpen {
			assert.False(t, s.Post(t.Context(), to(server.URL)).PutOff, status)
		}
		assert.Equal(t, opens, s.Post(t.Context(), to(server.URL)).PutOff, status)
	}
}

func TestAPostWhoseCallerLeavesSaysNothingAboutTheEndpoint(t *testing.T) {
	arrived := make(chan struct{})
	rawURL := raw(t, func(c net.Conn) {
		arrived <- struct{}{}
		untilClosed(c)
	})
	s := newSender(t, Config{AllowedNetworks: local})
	for range 2 * failuresToOpen {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan Result, 1)
		go func() { done <- s.Post(ctx, to(rawURL)) }()
		select {
		case <-arrived: // so the post is under way when its caller leaves
		case result := <-done:
			require.Fail(t, "the endpoint is left alone", result.Problem)
		}
		cancel()
		assert.True(t, (<-done).PutOff)
	}
	assert.Zero(t, s.Resting(rawURL))
}
