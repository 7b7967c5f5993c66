package contacts

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/internal/database/databasetest"
)

func TestMain(m *testing.M) {
	databasetest.OneEngine()
	harness.Main(m)
}

// What its person does about a question ends its call before anything is sent. Each is the question of another sender. Reading alone ends
// nothing.
func TestWhatEndsACall(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ends := map[string]func(question string){
			"answered": func(question string) { h.call(t, "maria", "POST", question+"/reply", `{"payload":{}}`) },
			"reacted":  func(question string) { h.call(t, "maria", "PUT", question+"/reactions/unclear", `{}`) },
			"declined": func(question string) { h.call(t, "maria", "PUT", question+"/reactions/declined", `{"note":"no time"}`) },
			"claimed":  func(question string) { h.call(t, "maria", "POST", question+"/claim", `{"ttl_seconds":3600}`) },
			"disposed": func(question string) {
				h.call(t, "maria", "POST", question+"/disposition", `{"disposition":"deferred"}`)
			},
			"deleted":    func(question string) { h.call(t, "deleted", "DELETE", question, "") },
			"read":       func(question string) { h.call(t, "maria", "PATCH", question, `{"status":"read"}`) },
			"left alone": func(string) {},
		}
		for sender, do := range ends {
			do(h.ask(t, sender))
		}
		h.told(t)
		for sender := range ends {
			told := 0
			if sender == "read" || sender == "left alone" {
				told = 1
			}
			require.Equal(t, told, h.posts.countOf(sender), sender)
		}
	})
}

// Whoever is there and has read the question needs no call; when they have left, they do.
func TestWhoReadsInALiveSessionIsNotTold(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		question := h.ask(t, "alice")
		h.call(t, "maria", "PATCH", question, `{"status":"read"}`)
		leave := h.listens(t, "maria")
		require.Zero(t, h.told(t))
		leave()
		require.Eventually(t, func() bool {
			h.clock.Advance(time.Second)
			return h.posts.countOf("alice") >= 1 // the clock may be ten minutes on by then
		}, harness.Patience, tick)
	})
}

// An obligation calls as well, also after its request's time is over.
func TestAnObligationCalls(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		until := h.clock.Now().Add(30 * time.Second).Format(time.RFC3339)
		question := h.ask(t, "alice", `,"obligation":{"blocks":"halted"},"expires_at":"`+until+`"`)
		require.Equal(t, 1, h.told(t))
		h.call(t, "alice", "POST", question+"/discharge", `{}`)
		h.clock.Advance(2 * time.Hour)
		require.Equal(t, 1, h.told(t))
	})
}

// What asks nothing of its person calls nobody.
func TestWhatAsksNothingCallsNobody(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		h.call(t, "alice", "POST", "/v1/channels/"+h.channel+"/messages", `{"message_type":"notify","to":"maria","payload":{}}`)
		h.call(t, "alice", "POST", "/v1/channels/"+h.channel+"/messages", `{"message_type":"broadcast","payload":{}}`)
		require.Zero(t, h.told(t))
	})
}

// No answer shows an address.
func TestNoAnswerShowsAnAddress(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		for _, answer := range []harness.Answer{
			h.call(t, "maria", "GET", "/v1/agents/maria/contacts", ""),
			h.call(t, "maria", "POST", h.shown+"/code", "{}"),
		} {
			require.NotRegexp(t, secret, string(answer.Body))
		}
		require.NotRegexp(t, secret, h.Log())
	})
}
