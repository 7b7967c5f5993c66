package contacts

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

const tick = 20 * time.Millisecond

// house is a server with a clock that the test moves, an intent in which people ask maria, and maria's proved contact.
type house struct {
	*harness.Server
	clock   *databasetest.Clock
	channel string
	posts   *standIn
	shown   string // the path of her contact
}

// standIn keeps the posts of pointers, by the sender whose question they speak of.
type standIn struct {
	*httptest.Server
	mutex sync.Mutex
	code  string
	told  map[string]int
}

func newStandIn(t *testing.T) *standIn {
	s := &standIn{told: make(map[string]int)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var fields struct{ Code, From string }
		_ = json.Unmarshal(body, &fields)
		s.mutex.Lock()
		defer s.mutex.Unlock()
		if fields.Code != "" {
			s.code = fields.Code
			return
		}
		s.told[fields.From]++
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *standIn) countOf(sender string) int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.told[sender]
}

func each(t *testing.T, run func(t *testing.T, h *house)) {
	t.Helper()
	clock := databasetest.NewClock()
	harness.EachWith(t, func(cfg *server.Config) {
		cfg.Clock, cfg.WebhookAllowedNetworks = clock.Now, "127.0.0.0/8"
	}, func(t *testing.T, server *harness.Server) {
		h := &house{Server: server, clock: clock, posts: newStandIn(t)}
		h.channel = h.id(t, "lead", "/v1/intents/"+h.id(t, "lead", "/v1/intents", `{"title":"Release 3"}`)+"/channels",
			`{"name":"builds","members":["maria"]}`)
		h.call(t, "maria", "PUT", "/v1/agents/maria/contacts", `{"contacts":[{"kind":"webhook","address":"`+h.posts.URL+`/hook"}]}`)
		var listed struct {
			Contacts []struct {
				ContactID string `json:"contact_id"`
			}
		}
		h.call(t, "maria", "GET", "/v1/agents/maria/contacts", "").Decode(t, &listed)
		h.shown = "/v1/agents/maria/contacts/" + listed.Contacts[0].ContactID
		h.call(t, "maria", "POST", h.shown+"/prove", `{"code":"`+h.posts.code+`"}`)
		run(t, h)
	})
}

func (h *house) call(t *testing.T, agent, method, path, body string) harness.Answer {
	t.Helper()
	answer := h.As(agent).REST(t, method, path, body)
	require.Less(t, answer.Status, 300, "%s %s: %s", method, path, answer.Body)
	return answer
}

func (h *house) id(t *testing.T, agent, path, body string) string {
	t.Helper()
	var made struct{ ID string }
	h.call(t, agent, "POST", path, body).Decode(t, &made)
	return made.ID
}

// ask lets somebody ask maria, and returns the path of the question.
func (h *house) ask(t *testing.T, from string, further ...string) string {
	t.Helper()
	return "/v1/channels/" + h.channel + "/messages/" + h.id(t, from, "/v1/channels/"+h.channel+"/messages",
		`{"message_type":"request","to":"maria","payload":{"question":"?"}`+strings.Join(further, "")+`}`)
}

// told lets two minutes pass, and awaits that maria is told of what others ask her meanwhile, one after the other. Whatever was due at the
// first of these was sent before the second. Then it returns how often she was told of alice's questions.
func (h *house) told(t *testing.T) int {
	t.Helper()
	for _, other := range []string{"bob", "lead"} {
		before := h.posts.countOf(other)
		h.ask(t, other)
		h.clock.Advance(time.Minute + time.Second)
		require.Eventually(t, func() bool {
			h.clock.Advance(4 * tick) // what fails on a busy machine is tried again after a while
			return h.posts.countOf(other) > before
		}, harness.Patience, tick)
	}
	return h.posts.countOf("alice")
}

// listens opens a stream for an agent, until it leaves.
func (h *house) listens(t *testing.T, agent string) (leave func()) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	request, err := h.As(agent).Request(ctx, http.MethodGet, "/v1/subscribe/agents/"+agent, "")
	require.NoError(t, err)
	answer, err := h.As(agent).HTTPClient().Do(request)
	require.NoError(t, err)
	t.Cleanup(func() { _ = answer.Body.Close() })
	require.Equal(t, http.StatusOK, answer.StatusCode)
	return leave
}

// secret is any part of an address that nobody may see.
var secret = regexp.MustCompile(`/hook|127\.0\.0\.1:\d+/`)
