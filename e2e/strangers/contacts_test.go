package strangers

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/server"
)

// postbox is a stranger's address, which counts what comes there.
type postbox struct {
	*httptest.Server
	mutex sync.Mutex
	came  []string
}

func newPostbox(t *testing.T, status int) *postbox {
	t.Helper()
	p := &postbox{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		p.mutex.Lock()
		defer p.mutex.Unlock()
		p.came = append(p.came, string(body))
		w.WriteHeader(status)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *postbox) all() []string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.came
}

// withWebhooks runs a test on servers that may post to this machine.
func withWebhooks(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	harness.EachWith(t, func(cfg *server.Config) { cfg.WebhookAllowedNetworks = "127.0.0.0/8" }, func(t *testing.T, h *harness.Server) {
		test(t, newWorld(t, h))
	})
}

// Nobody fills a stranger's mailbox with codes: not with many keys, many names, many contacts, and contacts that are removed and set again.
func TestNobodyFillsAStrangersMailbox(t *testing.T) {
	withWebhooks(t, func(t *testing.T, w *world) {
		stranger := newPostbox(t, 204)
		refused := 0
		for n := range 6 {
			name := fmt.Sprint("mallory", n)
			mallory := w.With(w.issue(t, `{"label":"m","agents":["`+name+`"]}`).Secret, "")
			for range 3 {
				answer := mallory.REST(t, "PUT", "/v1/agents/"+name+"/contacts", `{"contacts":[{"kind":"webhook","address":"`+stranger.URL+`/inbox"}]}`)
				if answer.Status != 200 {
					refusal{status: 429, code: "RESOURCE_EXHAUSTED", reason: "TOO_MANY_CODES"}.check(t, answer)
					refused++
				}
				require.Equal(t, 200, mallory.REST(t, "PUT", "/v1/agents/"+name+"/contacts", `{"contacts":[]}`).Status)
			}
		}
		require.Len(t, stranger.all(), 3)
		require.Equal(t, 15, refused)

		other, answers := newPostbox(t, 204), map[int]int{}
		for n := range 15 { // one unbound key, a name and an address for each
			answer := w.As(fmt.Sprint("name", n)).REST(t, "PUT", fmt.Sprintf("/v1/agents/name%d/contacts", n),
				fmt.Sprintf(`{"contacts":[{"kind":"ntfy","address":"%s/%d"}]}`, other.URL, n))
			answers[answer.Status]++
		}
		require.Equal(t, map[int]int{200: 10, 429: 5}, answers)
		require.Len(t, other.all(), 10)
		for _, came := range append(stranger.all(), other.all()...) {
			require.Contains(t, came, "The code for ")
		}
		w.goesOn(t)
	})
}

// A code is not found by guessing, and nobody else's proof counts.
func TestCodesAreNotGuessed(t *testing.T) {
	withWebhooks(t, func(t *testing.T, w *world) {
		bobs := newPostbox(t, 204)
		set := w.As("bob").REST(t, "PUT", "/v1/agents/bob/contacts", `{"contacts":[{"kind":"webhook","address":"`+bobs.URL+`/bob"}]}`)
		require.Equal(t, 200, set.Status, "%s", set.Body)
		var listed struct {
			Contacts []struct {
				ID string `json:"contact_id"`
			}
		}
		set.Decode(t, &listed)
		path := "/v1/agents/bob/contacts/" + listed.Contacts[0].ID
		_, code, _ := strings.Cut(bobs.all()[0], `"code":"`)
		code, _, _ = strings.Cut(code, `"`)
		require.Len(t, code, 8)
		wrong := conflict("CODE_WRONG")
		for _, who := range []*harness.Caller{w.As("carol"), w.With(harness.BoundKey, "")} {
			denied("NOT_AGENT_OWNER").check(t, who.REST(t, "POST", path+"/prove", `{"code":"`+code+`"}`))
			denied("NOT_AGENT_OWNER").check(t, who.REST(t, "POST", path+"/code", `{}`))
		}
		for n := range 5 {
			wrong.check(t, w.As("bob").REST(t, "POST", path+"/prove", fmt.Sprintf(`{"code":"%08d"}`, n)))
		}
		wrong.check(t, w.As("bob").REST(t, "POST", path+"/prove", `{"code":"`+code+`"}`))
		require.Contains(t, string(w.As("bob").REST(t, "GET", "/v1/agents/bob/contacts", "").Body), `"state":"unproved"`)
		w.goesOn(t)
	})
}

// An address stays with the server: no answer and no line of the log has it, whoever asks and whatever becomes of what is sent there.
func TestAddressesAreShownToNobody(t *testing.T) {
	withWebhooks(t, func(t *testing.T, w *world) {
		const topic = "the-topic-that-nobody-guesses"
		gone := newPostbox(t, 410)
		closed := httptest.NewServer(nil)
		closed.Close()
		var said strings.Builder
		for _, address := range []string{gone.URL, closed.URL} {
			answer := w.As("bob").REST(t, "PUT", "/v1/agents/bob/contacts", `{"contacts":[{"kind":"ntfy","address":"`+address+`/`+topic+`"}]}`)
			require.Equal(t, 200, answer.Status, "%s", answer.Body)
			require.Contains(t, string(answer.Body), `"last_problem":"`, "it could not be sent")
			said.Write(answer.Body)
		}
		again := w.As("bob").REST(t, "PUT", "/v1/agents/bob/contacts",
			`{"contacts":[{"kind":"ntfy","address":"`+closed.URL+`/`+topic+`"}]}`)
		require.Equal(t, 400, again.Status)
		said.Write(again.Body)
		for _, who := range []*harness.Caller{w.As("bob"), w.Operator(), w.As("carol")} {
			for _, path := range []string{"/v1/agents/bob/contacts", "/v1/agents/bob", "/v1/agents/bob/reach", "/v1/concerns"} {
				said.Write(who.REST(t, "GET", path, "").Body)
			}
		}
		require.NotContains(t, said.String(), topic)
		require.NotContains(t, w.Log(), topic)
		w.goesOn(t)
	})
}
