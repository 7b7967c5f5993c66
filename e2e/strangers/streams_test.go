package strangers

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// refusedStream is a stream that must not begin.
type refusedStream struct {
	what, key, agent, path string
	header                 string
	refused                refusal
}

// Event streams that cannot begin. Each refusal is held back for a second, so all are asked for at once.
func TestStreamsThatCannotBegin(t *testing.T) {
	key := harness.Key
	streams := []refusedStream{
		{"no key", "", "alice", "{room}", "", unauthenticated("API_KEY_MISSING")},
		{"an unknown key", "nope", "alice", "{room}", "", unauthenticated("API_KEY_UNKNOWN")},
		{"no such channel", key, "alice", "nope", "", notFound("CHANNEL_NOT_FOUND")},
		{"no id", key, "alice", "%00", "", badField("channel_id")},
		{"no member", key, "carol", "{members_room}", "", denied("NOT_A_MEMBER")},
		{"a hidden channel", key, "bob", "{hidden_room}", "", denied("FORBIDDEN")},
		{"an unknown query key", key, "alice", "{room}?colour=red", "", badField("colour")},
		{"a malformed query", key, "alice", "{room}?%zz", "", badField("query")},
		{"no cursor", key, "alice", "{room}", "{request}", badField("Last-Event-ID")},
		{"a negative cursor", key, "alice", "{room}?last_event_id=-1", "", badField("last_event_id")},
		{"a cursor of the future", key, "alice", "{room}", "999999", badField("after_position")},
		{"a cursor beyond numbers", key, "alice", "{room}", strings.Repeat("9", 30), badField("Last-Event-ID")},
	}
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		before := w.ledger(t)
		answers := make([]chan harness.Answer, len(streams))
		for i, stream := range streams {
			answers[i] = make(chan harness.Answer, 1)
			go func() { answers[i] <- w.open(t, stream) }()
		}
		for i, stream := range streams {
			answer := <-answers[i]
			t.Run(stream.what, func(t *testing.T) { stream.refused.check(t, answer) })
		}
		require.Equal(t, before, w.ledger(t))
		w.goesOn(t)
	})
}

// open asks for a stream and reads the whole answer; it is empty when there is none.
func (w *world) open(t *testing.T, stream refusedStream) (answer harness.Answer) {
	caller := w.With(stream.key, stream.agent)
	request, err := caller.Request(t.Context(), "GET", w.fill("/v1/subscribe/channels/"+stream.path), "")
	if err != nil {
		return answer
	}
	if stream.header != "" {
		request.Header.Set("Last-Event-ID", w.fill(stream.header))
	}
	response, err := w.HTTP.Do(request)
	if err != nil {
		return answer
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return answer
	}
	return harness.Answer{Status: response.StatusCode, Header: response.Header, Body: text}
}
