package mcp

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// change changes one thing about a channel, past the door.
func (a *agent) change(t *testing.T, what string, channel *openintentv1.Channel) {
	t.Helper()
	_, err := a.direct.Channels.UpdateChannel(t.Context(), &openintentv1.UpdateChannelRequest{
		Channel: channel, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{what}},
	})
	require.NoError(t, err)
}

// Every way to name a channel leads to it.
func TestJoinFindsAChannel(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann, bob := h.join(t, "ann"), h.join(t, "bob")
		intent := ann.intent(t, "Report", nil)
		room := ann.open(t, intent, "two words")
		ann.tell(t, room, "first")
		last := ann.tell(t, room, strings.Repeat("long ", 100))
		for _, given := range []arguments{
			{"url": "openintent://channels/" + room},
			{"url": h.BaseURL() + "/v1/channels/" + room + "/messages"},
			{"url": h.BaseURL() + "/v1/intents/" + intent + "/channels/two%20words/messages"},
			{"intent": intent, "channel": "two words"},
			{"intent": intent, "channel": "two words", "create": true},
		} {
			answer, line := bob.call(t, "join", given)
			require.Equal(t, room, answer["channel"], line)
			require.Equal(t, intent, answer["intent"])
			require.Equal(t, "two words", answer["name"])
			require.Equal(t, "Report", answer["title"])
			require.Equal(t, "What Report is for.", answer["description"])
			require.Equal(t, "intent", answer["members"])
			require.Equal(t, last, answer["cursor"])
			require.Len(t, texts(t, answer), 2)
			require.Contains(t, answer["note"], "wait for the channel")
			require.Less(t, len(line), 2000)
		}
		require.Equal(t, "CHANNEL_NOT_FOUND", bob.refused(t, "join", arguments{"intent": intent, "channel": "missing"}).Refused)
		require.Equal(t, "INVALID_FIELD", bob.refused(t, "join", arguments{"intent": intent}).Refused)
		require.Equal(t, "INVALID_FIELD", bob.refused(t, "join", arguments{}).Refused)
		require.Equal(t, "INVALID_FIELD", bob.refused(t, "join", arguments{"url": "/v1/channels/" + room, "channel": "x"}).Refused)
		said := bob.refused(t, "join", arguments{"url": "https://example.org/elsewhere#oi_secret"})
		require.Equal(t, "INVALID_FIELD", said.Refused)
		require.NotContains(t, said.Message, "oi_secret")
	})
}

// A channel's name alone is enough where one channel has it.
func TestJoinByANameAlone(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann, bob := h.join(t, "ann"), h.join(t, "bob")
		intent := ann.intent(t, "Report", nil)
		room := ann.open(t, intent, "data-clarification")
		for _, given := range []arguments{{"channel": "data-clarification"}, {"channel": room}, {"channel": room, "intent": intent}} {
			answer, _ := bob.call(t, "join", given)
			require.Equal(t, room, answer["channel"])
		}
		said := bob.refused(t, "join", arguments{"channel": "missing"})
		require.Equal(t, "CHANNEL_NOT_FOUND", said.Refused)
		require.Contains(t, said.Message, "channels lists")
		require.Equal(t, "CHANNEL_NOT_FOUND", h.stranger(t).refused(t, "join", arguments{"channel": "hidden"}).Refused)

		other := ann.open(t, ann.intent(t, "Other", nil), "data-clarification")
		said = bob.refused(t, "join", arguments{"channel": "data-clarification"})
		require.Equal(t, "SEVERAL_CHANNELS", said.Refused)
		for _, id := range []string{room, other} {
			require.Contains(t, said.Message, "openintent://channels/"+id)
		}
		ann.change(t, "status", &openintentv1.Channel{Id: room, Status: openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED})
		answer, _ := bob.call(t, "join", arguments{"channel": "data-clarification"})
		require.Equal(t, other, answer["channel"], "a closed one does not count")
	})
}

// Who makes a channel hears what is said to everyone in its inbox, and a cursor leads on although nothing was said yet.
func TestJoinMakesAChannel(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann, bob := h.join(t, "ann"), h.join(t, "bob")
		intent := ann.intent(t, "Report", nil)
		answer, _ := bob.call(t, "join", arguments{"intent": intent, "channel": "new", "create": true})
		room := text(t, answer, "channel")
		require.NotContains(t, answer, "note")
		require.NotEmpty(t, answer["cursor"])
		again, _ := bob.call(t, "join", arguments{"intent": intent, "channel": "new", "create": true})
		require.Equal(t, answer, again)
		ann.tell(t, room, "to everyone")
		inbox, _ := bob.call(t, "inbox", nil)
		require.Equal(t, []string{"to everyone"}, texts(t, inbox))
		since, _ := bob.call(t, "read", arguments{"channel": room, "cursor": answer["cursor"]})
		require.Equal(t, []string{"to everyone"}, texts(t, since))
	})
}

// Only who manages a channel of members lets itself in.
func TestJoinAChannelOfMembers(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann, bob := h.join(t, "ann"), h.join(t, "bob")
		intent := ann.intent(t, "Report", nil)
		board := ann.open(t, intent, "board", "cora")
		ann.change(t, "options", &openintentv1.Channel{Id: board, Options: &openintentv1.ChannelOptions{
			History: openintentv1.ChannelHistory_CHANNEL_HISTORY_FROM_JOIN.Enum(), TtlSeconds: new(int64(900)),
		}})
		require.Equal(t, "NOT_A_MEMBER", bob.refused(t, "join", arguments{"url": "/v1/channels/" + board}).Refused)
		answer, _ := ann.call(t, "join", arguments{"url": "/v1/channels/" + board})
		require.Equal(t, "explicit", answer["members"])
		require.Equal(t, "from_join", answer["history"])
		require.EqualValues(t, 900, answer["ttl_s"])
		ann.tell(t, board, "hello")
		cora := h.join(t, "cora")
		answer, _ = cora.call(t, "join", arguments{"intent": intent, "channel": "board"})
		require.Equal(t, []string{"hello"}, texts(t, answer))
		now, err := ann.direct.Channels.GetChannel(t.Context(), &openintentv1.GetChannelRequest{ChannelId: board})
		require.NoError(t, err)
		require.Equal(t, []string{"cora", "ann"}, now.GetMembers())
	})
}

// A closed channel is shown, without a cursor, because nothing comes any more.
func TestJoinAClosedChannel(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann := h.join(t, "ann")
		room := ann.open(t, ann.intent(t, "Report", nil), "room")
		ann.tell(t, room, "last words")
		ann.change(t, "status", &openintentv1.Channel{Id: room, Status: openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED})
		answer, _ := h.join(t, "bob").call(t, "join", arguments{"url": "/v1/channels/" + room})
		require.Equal(t, true, answer["closed"])
		require.NotContains(t, answer, "cursor")
		require.Equal(t, []string{"last words"}, texts(t, answer))
	})
}

// A wait goes on where join ended, for clients of the newest and of an older revision, and misses nothing that came between.
func TestAWaitGoesOnWhereJoinEnded(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann := h.join(t, "ann")
		for _, revision := range []string{newest, older} {
			room := ann.open(t, ann.intent(t, "Report", nil), "room")
			bob := h.connect(t, harness.Key, "bob", revision, nil)
			for _, words := range []string{"into an empty channel", "after that"} {
				joined, _ := bob.call(t, "join", arguments{"url": "openintent://channels/" + room})
				ann.tell(t, room, words)
				answer, _ := bob.call(t, "wait", arguments{"for": room, "cursor": joined["cursor"]})
				require.Equal(t, []string{words}, texts(t, answer))
			}
		}
	})
}

// An agent joins an agent channel by the URL that it was given, as itself. The key behind the # opens nothing for it and is shown to nobody;
// a guest, whose key it is, joins with that key.
func TestJoinAnAgentChannel(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann, stranger := h.join(t, "ann"), h.stranger(t)
		made := func(body string) string {
			var channel object
			ann.direct.REST(t, "POST", "/agent-channel", body).Decode(t, &channel)
			return text(t, channel, "url")
		}
		open, closed := made(`{"title": "Open", "open": true}`), made(`{"title": "Closed"}`)
		for _, given := range []string{open, open + "#oi_secret", strings.ToLower(open) + "/events?x=y", strings.TrimPrefix(open, "http://")} {
			answer, line := stranger.call(t, "join", arguments{"url": given})
			require.Equal(t, "Open", answer["title"], line)
			require.NotContains(t, line, "oi_secret")
		}
		var invite object
		ann.direct.REST(t, "POST", strings.TrimPrefix(closed, h.BaseURL())+"/invite", `{"agent": "guest-bob"}`).Decode(t, &invite)
		key := text(t, invite, "key")
		said := stranger.refused(t, "join", arguments{"url": text(t, invite, "url")})
		require.Equal(t, "CHANNEL_NOT_FOUND", said.Refused)
		require.Contains(t, said.Message, "Authorization: Bearer KEY")
		require.NotContains(t, said.Message, key)
		nowhere := stranger.refused(t, "join", arguments{"url": h.BaseURL() + "/agent-channel/ZZ99"})
		require.Equal(t, nowhere, said, "nobody learns whether there is a channel")
		guest := h.connect(t, key, "", newest, nil)
		answer, line := guest.call(t, "join", arguments{"url": text(t, invite, "url")})
		require.NotEmpty(t, answer["channel"], line)
		require.NotContains(t, line, key)
		sent, _ := guest.call(t, "send", arguments{"channel": answer["channel"], "text": "here"})
		require.NotEmpty(t, sent["id"])
	})
}

// Agents that agree on a title meet without ids, whoever comes first.
func TestJoinByATitle(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann, bob := h.join(t, "ann"), h.join(t, "bob")
		given := arguments{"intent": "Release 1.2", "channel": "talk"}
		first, _ := ann.call(t, "join", given)
		require.Equal(t, true, first["made_intent"])
		second, _ := bob.call(t, "join", given)
		require.NotContains(t, second, "made_intent")
		require.Equal(t, first["channel"], second["channel"])
		require.Equal(t, first["intent"], second["intent"])
		require.Equal(t, "CHANNEL_NOT_FOUND", bob.refused(t, "join", arguments{"intent": "Release 1.2", "channel": "other"}).Refused)

		ann.intent(t, "Twice", nil)
		ann.intent(t, "Twice", nil)
		said := bob.refused(t, "join", arguments{"intent": "Twice", "channel": "talk"})
		require.Equal(t, "SEVERAL_INTENTS", said.Refused)
		require.Equal(t, "ann ann", said.Facts["creators"])
		require.Len(t, strings.Fields(said.Facts["intent_ids"]), 2)
	})
}

// A question says why nobody answers, and a name that nobody has is not waited for unless that is wanted.
func TestAskSaysWhyNobodyAnswers(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann, bob := h.join(t, "ann"), h.join(t, "bob")
		bob.call(t, "status", arguments{"state": "here"})
		room := ann.open(t, ann.intent(t, "Report", nil), "talk")
		answer, _ := ann.call(t, "ask", arguments{"channel": room, "to": "bib", "text": "Are you there?", "timeout_s": 0.2})
		require.Equal(t, false, answer["answered"])
		require.Contains(t, answer["why"], "no agent of that name was ever registered (did you mean bob?)")
		answer, _ = ann.call(t, "ask", arguments{"channel": room, "to": "bob", "text": "Are you there?", "timeout_s": 0.2})
		require.Contains(t, answer["why"], "it is registered, and has not received the request")
		given := arguments{"channel": room, "to": "bob", "text": "Again?", "timeout_s": 0.2, "key": "k"}
		first, _ := ann.call(t, "ask", given)
		again, _ := ann.call(t, "ask", given)
		require.Equal(t, first["message"], again["message"])
		said := ann.refused(t, "ask", arguments{"channel": room, "to": "bib", "text": "Are you there?", "fail_fast": true})
		require.Equal(t, "NOBODY_THERE", said.Refused)
		require.Contains(t, said.Message, "did you mean bob?")
	})
}

// Harnesses ask their users by what a tool does, and some of them refuse a tool that does not say it. All tools of all profiles do.
func TestToolsSayWhatTheyDo(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		var reading, repeating, destroying, readingElsewhere []string
		for _, path := range []string{"/mcp", "/mcp?tools=c2a", "/mcp?tools=agent-channel", "/mcp?tools=repomesh"} {
			listed, err := h.connectTo(t, path, harness.Key, "ann", newest, nil).ListTools(t.Context(), nil)
			require.NoError(t, err)
			require.NotEmpty(t, listed.Tools)
			for _, tool := range listed.Tools {
				require.NotNil(t, tool.Annotations, tool.Name)
				require.False(t, *tool.Annotations.OpenWorldHint, tool.Name)
				line := written(t, tool.Annotations)
				for _, hint := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
					require.Contains(t, line, hint, tool.Name)
				}
				if *tool.Annotations.DestructiveHint {
					destroying = append(destroying, tool.Name)
				}
				switch {
				case path != "/mcp" && tool.Annotations.ReadOnlyHint:
					readingElsewhere = append(readingElsewhere, tool.Name)
				case path != "/mcp":
				case tool.Annotations.ReadOnlyHint:
					reading = append(reading, tool.Name)
				case tool.Annotations.IdempotentHint:
					repeating = append(repeating, tool.Name)
				}
			}
		}
		require.ElementsMatch(t, []string{"whoami", "channels", "inbox", "wait", "read"}, reading)
		require.ElementsMatch(t, []string{"join", "mark", "status"}, repeating)
		require.Equal(t, []string{"channel.close"}, destroying)
		require.ElementsMatch(t, []string{
			"chat.list_events", "chat.read_thread", "channel.list", "channel.read", "channel.state", "channel.spec", "channel.events",
			"event.list", "event.inbox", "event.search", "event.thread", "task.list", "agent.list",
		}, readingElsewhere)
	})
}
