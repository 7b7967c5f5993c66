package siege

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// room is an intent with a channel, and the live stream of an agent that may read it.
type room struct {
	intent, channel string
	stream          openintentv1.MessageService_SubscribeClient
}

// TestNobodyReadsByALostHistory makes PostgreSQL lose commits behind the back of a running server, as a failover to a
// lagging standby does. Then it makes as many changes as were lost. Readers who are revoked by these changes, but
// were not by the lost ones, try to read on. Messages are also sent to agents that only lost messages had reached.
// The test does not run on SQLite, where one process owns the file and nobody can exchange its content.
func TestNobodyReadsByALostHistory(t *testing.T) {
	url := databasetest.URL(t, database.PostgreSQL)
	options := harness.Options{URL: url, APIKeys: "boss-key=boss,mallory-key=mallory,victim-key=victim,helper-key=helper"}
	server, replica := harness.StartProcess(t, options), harness.StartProcess(t, options)
	boss, mallory := server.With("boss-key", "boss"), server.With("mallory-key", "mallory")
	victim := server.With("victim-key", "victim")
	db := databasetest.Open(t, database.Config{URL: url})

	rooms, halls := make([]*room, size(5, 100)), make([]*room, size(5, 100)) // a hall has no access list
	for i := range rooms {
		rooms[i], halls[i] = openRoom(t, boss), openRoom(t, boss)
		admitTo(t, boss, rooms[i], "mallory")
		say(t, boss, rooms[i], "*", "kept")
		say(t, boss, halls[i], "*", "kept")
	}
	past := databasetest.Remember(t, db, "before")
	for i, r := range rooms {
		admitTo(t, boss, r, "mallory", "helper")
		require.NoError(t, readBy(t, mallory, r))
		say(t, boss, halls[i], "victim", "lost")
		follow(t, victim, halls[i])
		say(t, boss, halls[i], "victim", "lost too")
		d, err := halls[i].stream.Recv()
		for err == nil && d.GetMessage() == nil {
			d, err = halls[i].stream.Recv()
		}
		require.NoError(t, err)
	}
	past.PutBack(t)

	readOn, ended := 0, 0
	for i, r := range rooms {
		admitTo(t, replica.With("boss-key", "boss"), r, "helper")
		if readBy(t, mallory, r) == nil {
			readOn++
		}
		say(t, boss, halls[i], "victim", "after")
		if endOf(halls[i]) == "CURSOR_BEYOND_LOG" {
			ended++
		}
	}
	inbox, err := victim.Messages.GetInbox(t.Context(), &openintentv1.GetInboxRequest{AgentId: "victim"})
	require.NoError(t, err)
	reached := make(map[string]bool)
	for _, item := range inbox.GetItems() {
		if item.GetMessage().GetPayload().GetFields()["text"].GetStringValue() == "after" {
			reached[item.GetIntentId()] = true
		}
	}
	missed := len(rooms) - len(reached)
	figure(t, "after a loss of commits in %d intents, %d revoked readers read on, %d of %d streams ended, %d inboxes missed a message",
		len(rooms), readOn, ended, len(rooms), missed)
	require.Zero(t, readOn)
	require.Zero(t, missed)
	require.Equal(t, len(rooms), ended)
}

func openRoom(t *testing.T, boss *harness.Caller) *room {
	t.Helper()
	active := openintentv1.IntentStatus_INTENT_STATUS_ACTIVE
	intent, err := boss.Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{Title: "A goal", Status: &active})
	require.NoError(t, err)
	channel, err := boss.Channels.CreateChannel(t.Context(), &openintentv1.CreateChannelRequest{IntentId: intent.GetId(), Name: "talk"})
	require.NoError(t, err)
	return &room{intent: intent.GetId(), channel: channel.GetId()}
}

// admitTo closes a room's intent to everyone except its creator and the named agents.
func admitTo(t *testing.T, boss *harness.Caller, r *room, agents ...string) {
	t.Helper()
	entries := make([]*openintentv1.AccessEntryInput, len(agents))
	for i, agent := range agents {
		entries[i] = &openintentv1.AccessEntryInput{PrincipalId: agent, Permission: openintentv1.Permission_PERMISSION_READ}
	}
	_, err := boss.Access.SetAccessControl(t.Context(), &openintentv1.SetAccessControlRequest{
		IntentId: r.intent, DefaultPolicy: openintentv1.AccessPolicy_ACCESS_POLICY_CLOSED, Entries: entries,
	})
	require.NoError(t, err)
}

func say(t *testing.T, by *harness.Caller, r *room, to, text string) {
	t.Helper()
	_, err := by.Messages.SendMessage(t.Context(), &openintentv1.SendMessageRequest{
		ChannelId: r.channel, To: &to,
		Payload: &structpb.Struct{Fields: map[string]*structpb.Value{"text": structpb.NewStringValue(text)}},
	})
	require.NoError(t, err)
}

// readBy returns why an agent may not read a room, for each way of reading.
func readBy(t *testing.T, by *harness.Caller, r *room) error {
	t.Helper()
	if _, err := by.Intents.GetIntent(t.Context(), &openintentv1.GetIntentRequest{IntentId: r.intent}); err != nil {
		_, listed := by.Messages.ListMessages(t.Context(), &openintentv1.ListMessagesRequest{ChannelId: r.channel})
		require.Error(t, listed)
		return err
	}
	_, err := by.Messages.ListMessages(t.Context(), &openintentv1.ListMessagesRequest{ChannelId: r.channel})
	return err
}

// follow begins a stream and returns when it is accepted.
func follow(t *testing.T, by *harness.Caller, r *room) {
	t.Helper()
	var err error
	r.stream, err = by.Messages.Subscribe(t.Context(), &openintentv1.SubscribeRequest{
		Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: r.channel},
	})
	require.NoError(t, err)
	_, err = r.stream.Header()
	require.NoError(t, err)
}

// endOf returns the reason for which a room's stream ends; empty when the stream delivers what was sent after the
// loss.
func endOf(r *room) (reason string) {
	for {
		d, err := r.stream.Recv()
		if err != nil {
			return harness.Reason(err)
		}
		if d.GetMessage().GetPayload().GetFields()["text"].GetStringValue() == "after" {
			return ""
		}
	}
}
