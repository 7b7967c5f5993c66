package doors

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/c2a/played"
	"openintent/e2e/harness"
	"openintent/e2e/releasebot"
)

// The question that the agent in Python asks, and the words of the others.
const (
	question  = "May 1.4 go out?"
	answer    = "It may go out."
	fromGuest = "The notes are written."
	fromMesh  = "The build is green."
	decided   = "1.4 goes out today."
)

// Mia's harness speaks MCP, Carl's speaks C2A, Remy's has RepoMesh's tools, Gil was given a URL and has curl, and the fifth agent is a program
// of the Python SDK. It asks the role of the first three for one answer: all of them hear, one claims the question, and one answers.
func TestOneConversationThroughAllDoors(t *testing.T) {
	python := releasebot.Python(t)
	each(t, func(t *testing.T, h *house) {
		for _, reviewer := range []string{"mia", "carl", "remy"} {
			made(t, h.As(reviewer), "/v1/agents", `{"role_id": "reviewer"}`)
		}
		mia, remy := h.model(t, "/mcp", h.As("mia")), h.model(t, "/mcp?tools=repomesh", h.As("remy"))
		carl := played.Connect(t, &h.Clients, "carl", played.June2, played.Every)
		gil := h.invited(t)
		require.Contains(t, gil.does(t, "open"), "release")
		bot := releasebot.Start(t, python, h.GRPCAddress(), h.intent, "release")

		asked := h.hearTheQuestion(t, mia, carl, remy)
		h.claimAndAnswer(t, asked, mia, carl, remy)
		require.Equal(t, object{"from": "carl", "payload": object{"text": answer}}, bot.Says(t))
		h.speakToAll(t, mia, carl, remy, gil, bot)

		seen := gil.does(t, "events")
		for _, forReviewers := range []string{question, answer, asked} {
			require.NotContains(t, seen, forReviewers, "a guest is none of those who were asked")
		}
		h.keepStrangersOut(t, asked)
	})
}

// hearTheQuestion waits until each reviewer has the question, in the way of its door, and returns its id.
func (h *house) hearTheQuestion(t *testing.T, mia model, carl *played.Harness, remy model) (asked string) {
	t.Helper()
	var messages []object
	for len(messages) == 0 {
		waited, _ := mia.call(t, "wait", object{"for": "inbox", "timeout_s": 50})
		messages = list(t, waited, "messages")
	}
	require.Len(t, messages, 1)
	require.Equal(t, []any{releasebot.Name, "request", "may_respond"}, []any{messages[0]["from"], messages[0]["type"], messages[0]["policy"]})
	asked = text(t, messages[0], "id")

	knock := heard(t, carl, asked)
	require.Equal(t, "notify", knock.At("injection.mode"))
	require.NotContains(t, knock.Text, question, "a knock tells who asks, and not what")

	inbox, _ := remy.call(t, "event.inbox", nil)
	events := list(t, inbox, "items")
	require.Len(t, events, 1)
	require.Equal(t, []any{asked, "request", "release"}, []any{events[0]["id"], events[0]["message_type"], events[0]["channel"]})
	require.Equal(t, question, events[0]["payload"].(object)["content"])
	return asked
}

// claimAndAnswer lets Carl claim the question and answer it. Nobody else gets in between, nor afterwards.
func (h *house) claimAndAnswer(t *testing.T, asked string, mia model, carl *played.Harness, remy model) {
	t.Helper()
	instead := object{"payload": object{"content": "No.", "parent_message_id": asked}}
	require.Equal(t, "carl", carl.Tool(t, "chat.claim", object{"inReplyTo": asked})["holder"])
	othersAreRefused := func(expected string) {
		reason, _ := mia.refused(t, "claim", object{"message": asked})
		require.Equal(t, expected, reason)
		reason, _ = remy.refused(t, "event.log", instead)
		require.Equal(t, expected, reason)
	}
	othersAreRefused("CLAIMED")
	pulled, err := json.Marshal(carl.Tool(t, "chat.read_thread", object{"inReplyTo": asked}))
	require.NoError(t, err)
	require.Contains(t, string(pulled), question)
	carl.Tool(t, "chat.send_message", object{
		"target": object{"conversationId": h.channel}, "content": answer, "inReplyTo": asked, "idempotencyKey": "answer", "visibility": "dm",
		"directedness": "to_me",
	})
	othersAreRefused("ANSWERED")
	var answers []object
	h.As(releasebot.Name).REST(t, "GET", "/v1/channels/"+h.channel+"/messages/"+asked+"/responses", "").Decode(t, &answers)
	require.Len(t, answers, 1)
	require.Equal(t, []any{"carl", object{"text": answer}}, []any{answers[0]["sender"], answers[0]["payload"]})
}

// speakToAll lets Gil, Remy and Mia say something to everybody, each through a door of its own. Whoever takes part hears it.
func (h *house) speakToAll(t *testing.T, mia model, carl *played.Harness, remy model, gil guest, bot *releasebot.Bot) {
	t.Helper()
	var posted object
	require.NoError(t, json.Unmarshal([]byte(gil.does(t, "say", fromGuest)), &posted))
	logged, _ := remy.call(t, "event.log", object{"channel": "release", "payload": object{"content": fromMesh}})
	require.Equal(t, h.channel, logged["channel_id"], "the mesh is the intent of the channel")
	sent, _ := mia.call(t, "send", object{"channel": h.channel, "text": decided})

	for _, spoken := range []struct {
		from, words string
		said        object
	}{{"guest-gil", fromGuest, posted}, {"remy", fromMesh, logged}, {"mia", decided, sent}} {
		delivered := heard(t, carl, text(t, spoken.said, "id"))
		require.Equal(t, spoken.from, delivered.At("author.id"))
		require.Equal(t, "tool_mailbox", delivered.At("injection.mode"))
		require.Contains(t, delivered.Text, spoken.words)
		_, read := mia.call(t, "read", object{"channel": h.channel})
		_, listed := remy.call(t, "event.list", object{"channel": "release"})
		for _, seen := range []string{read, listed, gil.does(t, "events")} {
			require.Contains(t, seen, spoken.words)
		}
	}
	require.ElementsMatch(t, []object{
		{"from": "guest-gil", "payload": object{"text": fromGuest}}, {"from": "remy", "payload": object{"content": fromMesh}},
		{"from": "mia", "payload": object{"text": decided}},
	}, []object{bot.Says(t), bot.Says(t), bot.Says(t)})
}

// keepStrangersOut lets an agent that nobody let in try every door.
func (h *house) keepStrangersOut(t *testing.T, asked string) {
	t.Helper()
	stranger := h.With(harness.BoundKey, "")
	var seen []string
	add := func(_, refusal string) { seen = append(seen, refusal) }
	tools := h.model(t, "/mcp", stranger)
	for tool, given := range map[string]object{
		"read": {"channel": h.channel}, "wait": {"for": h.channel, "timeout_s": 0}, "claim": {"message": asked}, "reply": {"message": asked, "text": "mine"},
	} {
		add(tools.refused(t, tool, given))
	}
	mesh := h.model(t, "/mcp?tools=repomesh", stranger)
	for tool, given := range map[string]object{
		"event.list": nil, "event.inbox": nil, "event.thread": {"message_id": asked}, "event.log": {"payload": object{"content": "mine"}},
	} {
		add(mesh.refused(t, tool, given))
	}
	connected := played.Dial(t, &h.Clients, stranger.Key, "")
	connected.Initialize(t, played.June2, played.Every)
	for tool, given := range map[string]object{"chat.read_thread": {"inReplyTo": asked}, "chat.claim": {"inReplyTo": asked}} {
		add("", connected.Refused(t, tool, given))
	}
	path := h.url[len(h.BaseURL()):]
	for _, below := range []string{"", "?format=md", "/events"} {
		got := stranger.REST(t, "GET", path+below, "")
		require.Equal(t, 404, got.Status, below)
		seen = append(seen, string(got.Body))
	}
	for _, refusal := range seen {
		for _, secret := range []string{question, answer, fromGuest, fromMesh, decided} {
			require.NotContains(t, refusal, secret)
		}
	}
}

// heard waits until a harness is told of an event, past other events, and acknowledges all of them.
func heard(t *testing.T, listener *played.Harness, event string) played.Delivery {
	t.Helper()
	for {
		f := listener.Incoming(t, "the event does not come")
		if f.Method != "chat/deliver" {
			continue
		}
		d := listener.AsDelivery(t, f)
		listener.Accept(t, d)
		if d.Event() == event {
			return d
		}
	}
}
