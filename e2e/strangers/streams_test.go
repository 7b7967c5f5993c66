package strangers

import (
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/internal/database/databasetest"
)

// refusedStream is a stream that must not begin.
type refusedStream struct {
	what, key, agent, path string
	header                 string
	refused                refusal
}

// These event streams cannot begin. The server holds back each refusal for a second, so the test requests all of them
// simultaneously.
func TestStreamsThatCannotBegin(t *testing.T) {
	databasetest.OneEngineOf(t)
	key := harness.Key
	streams := []refusedStream{
		{"no such channel", key, "alice", "subscribe/channels/nope", "", notFound("CHANNEL_NOT_FOUND")},
		{"no member", key, "carol", "subscribe/channels/{members_room}", "", denied("NOT_A_MEMBER")},
		{"a hidden channel", key, "bob", "subscribe/channels/{hidden_room}", "", denied("FORBIDDEN")},
		{"no such intent", key, "alice", "subscribe/intents/nope", "", notFound("INTENT_NOT_FOUND")},
		{"a channel for an intent", key, "alice", "intents/{room}/subscribe", "", notFound("INTENT_NOT_FOUND")},
		{"a hidden intent", key, "bob", "subscribe/intents/{hidden_intent}", "", denied("FORBIDDEN")},
		{"a hidden intent on the other path", key, "bob", "intents/{hidden_intent}/subscribe", "", denied("FORBIDDEN")},
		{"another agent", key, "alice", "subscribe/agents/bob", "", denied("NOT_AGENT_OWNER")},
		{"another agent on the other path", key, "alice", "agents/bob/subscribe", "", denied("NOT_AGENT_OWNER")},
		{"no such subscription", key, "alice", "subscribe/subscriptions/nope", "", notFound("SUBSCRIPTION_NOT_FOUND")},
		{"another's subscription", key, "bob", "subscribe/subscriptions/{subscription}", "", notFound("SUBSCRIPTION_NOT_FOUND")},
		{"acknowledging what was not delivered", key, "alice", "subscribe/subscriptions/{subscription}", "999999", beyondLog},
		{"a filter of a subscription", key, "alice", "subscribe/subscriptions/{subscription}?event_types=a", "", badField("event_types")},
		{"too many at a time", key, "alice", "subscribe/subscriptions/{subscription}?max_outstanding=1001", "", badField("max_outstanding")},
		{"no type of message", key, "alice", "subscribe/intents/{intent}?message_type=letter", "", badField("message_type")},
		{"no word of include", key, "alice", "subscribe/intents/{intent}?include=receipts", "", badField("include[0]")},
		{"one of two words of include", key, "alice", "subscribe/channels/{room}?include=annotations,receipts", "", badField("include[1]")},
		{"no member, with annotations", key, "carol", "subscribe/channels/{members_room}?include=annotations", "", denied("NOT_A_MEMBER")},
		{"a hidden intent, with annotations", key, "bob", "subscribe/intents/{hidden_intent}?include=annotations", "", denied("FORBIDDEN")},
		{"an empty type", key, "alice", "intents/{intent}/subscribe?event_types=a,,b", "", badField("event_types[1]")},
		{"a type that is too long", key, "alice", "subscribe/agents/alice?event_types=" + strings.Repeat("x", 257), "", badField("event_types[0]")},
	}
	for parameter, path := range map[string]string{
		"channel_id": "subscribe/channels/{room}", "intent_id": "subscribe/intents/{intent}", "agent_id": "agents/alice/subscribe",
		"subscription_id": "subscribe/subscriptions/{subscription}",
	} {
		streams = append(streams, []refusedStream{
			{"no key for " + parameter, "", "alice", path, "", unauthenticated("API_KEY_MISSING")},
			{"an unknown key for " + parameter, "nope", "alice", path, "", unauthenticated("API_KEY_UNKNOWN")},
			{"no " + parameter, key, "alice", noID(path), "", badField(parameter)},
			{"an unknown query key for " + parameter, key, "alice", path + "?colour=red", "", badField("colour")},
			{"a malformed query for " + parameter, key, "alice", path + "?%zz", "", badField("query")},
			{"no cursor for " + parameter, key, "alice", path, "{request}", badField("Last-Event-ID")},
			{"a negative cursor for " + parameter, key, "alice", path + "?last_event_id=-1", "", badField("last_event_id")},
			{"a cursor beyond numbers for " + parameter, key, "alice", path, strings.Repeat("9", 30), badField("Last-Event-ID")},
		}...)
		if parameter != "subscription_id" {
			streams = append(streams, refusedStream{
				"a cursor of the future for " + parameter, key, "alice", path, "999999", beyondLog,
			})
		}
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

// noID replaces the id in a path by a text that cannot be an id.
func noID(path string) string {
	return regexp.MustCompile(`\{\w+\}|alice`).ReplaceAllString(path, "%00")
}

// open requests a stream and reads the whole answer; the answer is empty when the server sends none.
func (w *world) open(t *testing.T, stream refusedStream) (answer harness.Answer) {
	caller := w.With(stream.key, stream.agent)
	request, err := caller.Request(t.Context(), "GET", w.fill("/v1/"+stream.path), "")
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
