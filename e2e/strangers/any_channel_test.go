package strangers

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// noMessage is an id that no message has.
const noMessage = "msg_01ARZ3NDEKTSV4RRFFQ69G5FAV"

// findsAnywhere checks that a caller reads the same by a message's id alone as with the channel, over both faces.
func (w *world) findsAnywhere(t *testing.T, c *harness.Caller, room, place string) {
	t.Helper()
	want, err := c.Messages.GetMessage(t.Context(), &openintentv1.GetMessageRequest{ChannelId: w.places[room], MessageId: w.places[place]})
	require.NoError(t, err)
	got, err := c.Messages.GetMessage(t.Context(), &openintentv1.GetMessageRequest{ChannelId: "-", MessageId: w.places[place]})
	require.NoError(t, err)
	require.True(t, proto.Equal(want, got), "%v", got)
	require.Equal(t, w.places[room], got.GetChannelId())
	answer := c.REST(t, "GET", w.fill("/v1/channels/-/messages/{"+place+"}"), "")
	require.Equal(t, 200, answer.Status, "%s", answer.Body)
	require.JSONEq(t, string(c.REST(t, "GET", w.fill("/v1/channels/{"+room+"}/messages/{"+place+"}"), "").Body), string(answer.Body))
}

// findsNowhere checks that a caller gets the same answer for a message as for one that is not there, to the letter.
func (w *world) findsNowhere(t *testing.T, c *harness.Caller, places ...string) {
	t.Helper()
	absent, refusal := w.lookAnywhere(t, c, noMessage)
	require.Contains(t, absent, `"MESSAGE_NOT_FOUND"`)
	for _, place := range places {
		require.NotEmpty(t, w.places[place], place)
		answer, refused := w.lookAnywhere(t, c, w.places[place])
		require.Equal(t, absent, answer, place)
		require.True(t, proto.Equal(refusal, refused), "%s: %v", place, refused)
	}
}

// lookAnywhere returns how a caller's two readings of a message are refused. An answer names the message only if the caller did.
func (w *world) lookAnywhere(t *testing.T, c *harness.Caller, id string) (answer string, refusal proto.Message) {
	t.Helper()
	_, err := c.Messages.GetMessage(t.Context(), &openintentv1.GetMessageRequest{ChannelId: "-", MessageId: id})
	require.Equal(t, "MESSAGE_NOT_FOUND", harness.Reason(err))
	over := c.REST(t, "GET", "/v1/channels/-/messages/"+id, "")
	require.Equal(t, 404, over.Status, "%s", over.Body)
	return strings.ReplaceAll(string(over.Body), id, "ID"), status.Convert(err).Proto()
}

// makeAnywhere makes messages in all kinds of places.
func (w *world) makeAnywhere(t *testing.T) {
	t.Helper()
	w.make(t, "hidden_message", "id", "alice", "/v1/channels/{hidden_room}/messages", `{"payload":{"secret":"`+secret+`"}}`)
	w.make(t, "hidden_note", "id", "", "/v1/channels/{hidden_room}/messages", `{"to":"alice","payload":{"secret":"`+secret+`"}}`)
	w.make(t, "deleted_room", "id", "alice", "/v1/intents/{intent}/channels", `{"name":"deleted"}`)
	w.make(t, "deleted_message", "id", "alice", "/v1/channels/{deleted_room}/messages", `{"payload":{}}`)
	require.Less(t, w.do(t, "alice", "DELETE", "/v1/channels/{deleted_room}", "").Status, 300)
	w.make(t, "short_room", "id", "alice", "/v1/intents/{intent}/channels", `{"name":"short","options":{"max_messages":1}}`)
	w.make(t, "evicted_message", "id", "alice", "/v1/channels/{short_room}/messages", `{"payload":{}}`)
	w.make(t, "last_message", "id", "alice", "/v1/channels/{short_room}/messages", `{"payload":{}}`)
}

// By a message's id alone everybody reads what it reads with the channel, and nothing else. What it may not read looks as if it
// were not there.
func TestAMessageByItsIDAlone(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		w.makeAnywhere(t)
		for _, c := range []*harness.Caller{w.As("alice"), w.Operator()} {
			for place, room := range map[string]string{
				"notify": "room", "expired": "room", "members_message": "members_room", "hidden_message": "hidden_room",
				"closed_message": "closed_room", "last_message": "short_room",
			} {
				w.findsAnywhere(t, c, room, place)
			}
			w.findsNowhere(t, c, "deleted_message", "evicted_message", "room")
		}
		w.findsAnywhere(t, w.As("bob"), "room", "notify")
		w.findsAnywhere(t, w.As("bob"), "members_room", "members_message")
		w.findsNowhere(t, w.As("bob"), "hidden_message", "hidden_note", "deleted_message")
		for _, stranger := range []*harness.Caller{w.As("carol"), w.With(harness.BoundKey, "")} {
			w.findsAnywhere(t, stranger, "room", "broadcast")
			w.findsNowhere(t, stranger, "notify", "request", "members_message", "hidden_message", "deleted_message", "evicted_message")
		}
		for _, id := range []string{"-", "nothing", strings.Repeat("x", 300), "%00"} {
			require.Contains(t, []int{400, 404}, w.As("alice").REST(t, "GET", "/v1/channels/-/messages/"+id, "").Status, id)
		}
		w.goesOn(t)
	})
}

// A scoped key and a guest find by its id alone only what lies in their scope, though their agent may see more.
func TestAScopedKeyFindsNoMessageOfElsewhereByItsID(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		w.makeAnywhere(t)
		own := []string{"notify", "members_message", "hidden_message", "deleted_message"}
		intent := w.issue(t, w.fill(`{"label":"an intent","agents":["alice"],"intents":["{other_intent}"]}`))
		w.findsNowhere(t, w.With(intent.Secret, ""), append(own, "other_message")...)
		within := w.issue(t, w.fill(`{"label":"its intent","agents":["alice"],"intents":["{intent}"],"read_only":true}`))
		w.findsAnywhere(t, w.With(within.Secret, ""), "room", "notify")
		w.findsNowhere(t, w.With(within.Secret, ""), "hidden_message", "deleted_message")
		channel := w.issue(t, w.fill(`{"label":"a channel","agents":["alice"],"channels":["{other_room}"]}`))
		w.findsAnywhere(t, w.With(channel.Secret, ""), "other_room", "other_message")
		w.findsNowhere(t, w.With(channel.Secret, ""), own...)
		nowhere := w.issue(t, `{"label":"a dash","agents":["alice"],"channels":["-"]}`)
		w.findsNowhere(t, w.With(nowhere.Secret, ""), append(own, "other_message")...)

		made := w.invites(t, "hidden_room", `{}`)
		w.enter(t, made, "hidden_room", "guest-ann")
		guest := w.With(made.Secret, "guest-ann")
		w.make(t, "call", "id", "alice", "/v1/channels/{hidden_room}/messages", `{"message_type":"broadcast","payload":{}}`)
		w.findsAnywhere(t, guest, "hidden_room", "call")
		w.findsNowhere(t, guest, "hidden_note", "notify", "broadcast", "members_message", "other_message")
		removed := w.do(t, "alice", "DELETE", "/v1/channels/{hidden_room}/members/guest-ann", "")
		require.Less(t, removed.Status, 300, "%s", removed.Body)
		w.findsNowhere(t, guest, "call", "hidden_message", "notify")
		w.goesOn(t)
	})
}
