package mcp

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// codeOf returns the code of a protocol's error.
func codeOf(t *testing.T, err error) int64 {
	t.Helper()
	var refused *jsonrpc.Error
	require.ErrorAs(t, err, &refused)
	return refused.Code
}

const (
	unknownTask       = jsonrpc.CodeInvalidParams
	missingCapability = sdk.CodeMissingRequiredClientCapabilities
)

func TestAskBecomesATask(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		channel := openChannel(t, h, forMembers, "alice", "bob").GetId()
		alice := h.takesTasks(t, "alice")
		require.Contains(t, alice.InitializeResult().Capabilities.Extensions, "io.modelcontextprotocol/tasks")
		made := alice.begin(t, "ask", arguments{"channel": channel, "to": "bob", "text": "?", "key": "k", "timeout_s": 60})
		require.Equal(t, "task", made.ResultType)
		require.Equal(t, "working", made.Status)
		require.Equal(t, int64(1000), made.PollInterval)
		require.Equal(t, int64(120_000), made.TTL, "its time, and a minute in which its outcome is there")

		state, err := alice.task(t.Context(), made.ID)
		require.NoError(t, err)
		require.Equal(t, "complete", state.ResultType)
		require.Equal(t, "working", state.Status)
		require.Equal(t, made.ID, state.ID)
		require.Equal(t, made.CreatedAt, state.CreatedAt)
		updated, err := sdk.CallCustomMethod[*taskID, *acknowledgement](t.Context(), alice.ClientSession, "tasks/update", &taskID{ID: made.ID})
		require.NoError(t, err, "it asks nothing of its client, and takes what it says")
		require.Equal(t, "complete", updated.ResultType)

		question := awaitQuestion(t, h, "bob")
		h.join(t, "bob").says(t, "reply", arguments{"message": question.GetId(), "text": "Yes."})
		ended := alice.outcome(t, made.ID)
		require.Equal(t, "completed", ended.Status)
		require.False(t, ended.LastUpdatedAt.Before(ended.CreatedAt))
		answer := saidIn(t, ended.Result)
		require.True(t, answer.Answered)
		require.Equal(t, []string{"Yes."}, textsOf(answer.Answers))

		require.Equal(t, answer, alice.says(t, "ask", arguments{
			"channel": channel, "to": "bob", "text": "?", "key": "k", "timeout_s": 60,
		}), "what is answered already becomes no task")
		require.Equal(t, answer, alice.says(t, "wait", arguments{"for": question.GetId()}))
	})
}

func TestAnAskedTaskIsCancelled(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		channel := openChannel(t, h, forMembers, "alice", "bob").GetId()
		alice := h.takesTasks(t, "alice")
		cancel := func(id string) {
			got, err := sdk.CallCustomMethod[*taskID, *acknowledgement](t.Context(), alice.ClientSession, "tasks/cancel", &taskID{ID: id})
			require.NoError(t, err)
			require.Equal(t, "complete", got.ResultType)
		}
		made := alice.begin(t, "ask", arguments{"channel": channel, "to": "bob", "text": "?"})
		question := awaitQuestion(t, h, "bob")
		cancel(made.ID)
		require.Equal(t, "cancelled", alice.outcome(t, made.ID).Status)
		found, err := h.As("bob").Messages.GetMessage(t.Context(), &openintentv1.GetMessageRequest{
			ChannelId: channel, MessageId: question.GetId(),
		})
		require.NoError(t, err)
		require.NotNil(t, found.GetDeletedAt(), "nobody answers what nobody waits for")
		cancel(made.ID)

		made = alice.begin(t, "ask", arguments{"channel": channel, "to": "bob", "text": "?", "min": 2})
		question = awaitQuestion(t, h, "bob")
		h.join(t, "bob").says(t, "reply", arguments{"message": question.GetId(), "text": "Yes."})
		cancel(made.ID)
		state, err := alice.task(t.Context(), made.ID)
		require.NoError(t, err)
		require.Equal(t, "working", state.Status, "a question that somebody has answered stays")

		waiting := alice.begin(t, "wait", arguments{"for": channel})
		cancel(waiting.ID)
		state, err = alice.task(t.Context(), waiting.ID)
		require.NoError(t, err)
		require.Equal(t, "working", state.Status, "to cancel a wait changes nothing")
	})
}

func TestWaitsBecomeTasks(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		channel := openChannel(t, h, forAll).GetId()
		alice, bob := h.takesTasks(t, "alice"), h.join(t, "bob")
		root := alice.says(t, "send", arguments{"channel": channel, "text": "root"}).ID
		made := map[string]taskState{}
		for _, subject := range []string{"inbox", channel, root} {
			made[subject] = alice.begin(t, "wait", arguments{"for": subject})
			require.Equal(t, "task", made[subject].ResultType, subject)
			require.Equal(t, int64(660_000), made[subject].TTL)
		}
		alice.says(t, "send", arguments{"channel": channel, "text": "my own"})
		for subject, begun := range made {
			state, err := alice.task(t.Context(), begun.ID)
			require.NoError(t, err)
			require.Equal(t, "working", state.Status, subject)
		}
		bob.says(t, "send", arguments{"channel": channel, "thread": root, "text": "under"})
		for subject, begun := range made {
			ended := alice.outcome(t, begun.ID)
			require.Equal(t, "completed", ended.Status, subject)
			answer := saidIn(t, ended.Result)
			require.Equal(t, []string{"under"}, textsOf(answer.Messages), subject)
			require.Equal(t, answer, saidIn(t, alice.outcome(t, begun.ID).Result), "%s: whoever has lost the outcome gets it again", subject)
			again := alice.begin(t, "wait", arguments{"for": subject, "cursor": answer.Cursor})
			require.Equal(t, "working", again.Status, "after its cursor there is nothing yet")
		}
		bob.says(t, "send", arguments{"channel": channel, "thread": root, "text": "more"})
		require.Equal(t, []string{"more"}, textsOf(alice.says(t, "wait", arguments{"for": "inbox"}).Messages),
			"what is there becomes no task")
		require.Empty(t, alice.says(t, "wait", arguments{"for": channel, "timeout_s": 0}).Messages, "nor does a look")

		short := alice.begin(t, "wait", arguments{"for": channel, "timeout_s": 1})
		answer := saidIn(t, alice.outcome(t, short.ID).Result)
		require.Empty(t, answer.Messages)
		require.NotEmpty(t, answer.Cursor, "a wait that runs out has a cursor")

		long := alice.begin(t, "wait", arguments{"for": channel})
		_, err := h.As("alice").Channels.UpdateChannel(t.Context(), closing(channel))
		require.NoError(t, err)
		ended := alice.outcome(t, long.ID)
		require.Equal(t, "completed", ended.Status, "failed is for errors of the protocol")
		require.Equal(t, "CHANNEL_CLOSED", saidIn(t, ended.Result).Refused)
	})
}

// A task is nobody's but the caller's, whatever its id says, and what is no task looks the same.
func TestTasksOfOthersAreUnknown(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		channel := openChannel(t, h, forMembers, "alice", "bob").GetId()
		alice, mallory := h.takesTasks(t, "alice"), h.takesTasks(t, "mallory")
		question := alice.begin(t, "ask", arguments{"channel": channel, "to": "bob", "text": "?"}).ID
		waiting := alice.begin(t, "wait", arguments{"for": channel}).ID
		inbox := alice.begin(t, "wait", arguments{"for": "inbox"}).ID
		ids := []string{
			"", "x", strings.Repeat("x", 5000), question, waiting, inbox, forged(t, question, "mallory"), forged(t, waiting, "mallory"),
		}
		refusals := map[string]struct{}{}
		for _, id := range ids {
			for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
				_, err := sdk.CallCustomMethod[*taskID, *acknowledgement](t.Context(), mallory.ClientSession, method, &taskID{ID: id})
				require.Equal(t, int64(unknownTask), codeOf(t, err), "%s %s", method, id)
				refusals[strings.ReplaceAll(err.Error(), method, "")] = struct{}{}
			}
		}
		require.Len(t, refusals, 1, "each looks like the others")
		bob := h.takesTasks(t, "bob")
		_, err := bob.task(t.Context(), forged(t, question, "bob"))
		require.Equal(t, int64(unknownTask), codeOf(t, err), "not even who is asked")
		state, err := alice.task(t.Context(), question)
		require.NoError(t, err)
		require.Equal(t, "working", state.Status, "nobody else has ended it")
	})
}

// forged returns a task's id as that of somebody else.
func forged(t *testing.T, id, agent string) string {
	t.Helper()
	text, err := base64.RawURLEncoding.DecodeString(id)
	require.NoError(t, err)
	require.True(t, json.Valid(text))
	changed := strings.ReplaceAll(string(text), `"by":"alice"`, `"by":"`+agent+`"`)
	require.NotEqual(t, string(text), changed)
	return base64.RawURLEncoding.EncodeToString([]byte(changed))
}

func TestTasksAreForClientsThatTakeThem(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		channel := openChannel(t, h, forMembers, "alice", "bob").GetId()
		id := h.takesTasks(t, "alice").begin(t, "ask", arguments{"channel": channel, "to": "bob", "text": "?", "key": "k"}).ID

		silent := h.knowsTasks(t, "alice", newest, &sdk.ClientCapabilities{})
		_, err := silent.task(t.Context(), id)
		require.Equal(t, int64(missingCapability), codeOf(t, err))
		require.NotEmpty(t, silent.says(t, "wait", arguments{"for": channel, "timeout_s": 1}).Cursor, "it waits, and has no task")

		declares := &sdk.ClientCapabilities{}
		declares.AddExtension("io.modelcontextprotocol/tasks", nil)
		old := h.knowsTasks(t, "alice", older, declares)
		require.Empty(t, old.InitializeResult().Capabilities.Extensions)
		_, err = old.task(t.Context(), id)
		require.Equal(t, int64(jsonrpc.CodeMethodNotFound), codeOf(t, err), "the older revisions have other tasks")
		require.NotEmpty(t, old.says(t, "wait", arguments{"for": channel, "timeout_s": 1}).Cursor)

		alice := h.takesTasks(t, "alice")
		require.Equal(t, sdk.CodeHeaderMismatch, alice.post(t, "tasks/get", "another", map[string]any{"taskId": id}).Error.Code)
		require.Nil(t, alice.post(t, "tasks/get", id, map[string]any{"taskId": id}).Error)
	})
}

// No server keeps tasks: another one of the same database goes on with them, and one that was started anew.
func TestAnyReplicaAnswersForATask(t *testing.T) {
	options := harness.Options{URL: databasetest.URL(t, database.PostgreSQL)}
	one, other := &house{harness.Start(t, options)}, &house{harness.Start(t, options)}
	channel := openChannel(t, one, forMembers, "alice", "bob").GetId()
	here, there := one.takesTasks(t, "alice"), other.takesTasks(t, "alice")
	question := here.begin(t, "ask", arguments{"channel": channel, "to": "bob", "text": "?"})
	waiting := here.begin(t, "wait", arguments{"for": channel})
	for _, id := range []string{question.ID, waiting.ID} {
		state, err := there.task(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, "working", state.Status)
	}
	require.NoError(t, one.Stop())
	other.join(t, "bob").says(t, "reply", arguments{"message": awaitQuestion(t, other, "bob").GetId(), "text": "Yes."})
	require.Equal(t, []string{"Yes."}, textsOf(saidIn(t, there.outcome(t, question.ID).Result).Answers))
	require.Equal(t, []string{"Yes."}, textsOf(saidIn(t, there.outcome(t, waiting.ID).Result).Messages))
	one.Start(t)
	again := one.takesTasks(t, "alice")
	require.Equal(t, "completed", again.outcome(t, question.ID).Status)
}
