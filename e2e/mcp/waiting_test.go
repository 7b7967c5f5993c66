package mcp

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

const (
	forAll     = openintentv1.MemberPolicy_MEMBER_POLICY_INTENT
	forMembers = openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT
)

// closing closes a channel.
func closing(channel string) *openintentv1.UpdateChannelRequest {
	return &openintentv1.UpdateChannelRequest{
		Channel:    &openintentv1.Channel{Id: channel, Status: openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"status"}},
	}
}

func TestAskWaitsForTheAnswer(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		for _, revision := range []string{newest, older} {
			channel := openChannel(t, h, forMembers, "alice", "bob").GetId()
			alice, bob := h.connect(t, harness.Key, "alice", revision, nil), h.connect(t, harness.Key, "bob", revision, nil)
			came := alice.meanwhile(t, "ask", arguments{"channel": channel, "to": "bob", "text": "How far?", "key": "k"})
			question := bob.says(t, "wait", arguments{"for": "inbox"})
			require.Equal(t, []string{"How far?"}, textsOf(question.Messages))
			require.Equal(t, "must_respond", question.Messages[0].Policy)
			bob.says(t, "reply", arguments{"message": question.Messages[0].ID, "text": "Half way."})
			answer := within(t, came)
			require.Equal(t, said{
				Message: question.Messages[0].ID, Answered: true, Answers: answer.Answers, Cursor: "1",
			}, answer)
			require.Equal(t, []string{"Half way."}, textsOf(answer.Answers))

			again := alice.says(t, "ask", arguments{"channel": channel, "to": "bob", "text": "How far?", "key": "k"})
			require.Equal(t, answer, again, "the same key is the same question")
			require.Equal(t, answer, alice.says(t, "wait", arguments{"for": answer.Message}), "its answer is still there")
			later := alice.says(t, "wait", arguments{"for": answer.Message, "cursor": answer.Cursor, "timeout_s": 0})
			require.False(t, later.Answered)
			require.Equal(t, "wait for this message", later.Hint)
			require.Equal(t, "INVALID_FIELD", alice.says(t, "wait", arguments{"for": answer.Message, "cursor": "x"}).Refused)
		}
	})
}

func TestAskTellsWhyNobodyAnswers(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		channel := openChannel(t, h, forMembers, "alice", "bob").GetId()
		alice := h.join(t, "alice")
		over := alice.says(t, "ask", arguments{"channel": channel, "to": "bob", "text": "?", "timeout_s": 0.1})
		require.False(t, over.Answered)
		require.Equal(t, "expired", over.Over)

		came := alice.meanwhile(t, "ask", arguments{"channel": channel, "to": "bob", "text": "?"})
		question := awaitQuestion(t, h, "bob")
		_, err := h.As("alice").Messages.DeleteMessage(t.Context(), &openintentv1.DeleteMessageRequest{
			ChannelId: channel, MessageId: question.GetId(),
		})
		require.NoError(t, err)
		require.Equal(t, "deleted", within(t, came).Over)

		came = alice.meanwhile(t, "ask", arguments{"channel": channel, "to": "bob", "text": "??"})
		awaitQuestion(t, h, "bob")
		_, err = h.As("alice").Channels.UpdateChannel(t.Context(), closing(channel))
		require.NoError(t, err)
		require.Equal(t, "expired", within(t, came).Over, "unanswered questions expire with their channel")
	})
}

func TestWaitTellsWhyNoMoreAnswersCome(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		channel := openChannel(t, h, forMembers, "alice", "bob").GetId()
		alice := h.join(t, "alice")
		answered := answeredInTime(t, h, channel)
		over := alice.says(t, "wait", arguments{"for": answered, "cursor": "1"})
		require.Equal(t, said{Message: answered, Over: "expired", Cursor: "1"}, over, "an answered question never counts as expired itself")

		came := alice.meanwhile(t, "ask", arguments{"channel": channel, "to": "bob", "text": "??", "min": 2})
		h.join(t, "bob").says(t, "reply", arguments{"message": awaitQuestion(t, h, "bob").GetId(), "text": "one"})
		_, err := h.As("alice").Channels.UpdateChannel(t.Context(), closing(channel))
		require.NoError(t, err)
		over = within(t, came)
		require.Equal(t, said{Message: over.Message, Answers: over.Answers, Over: "closed", Cursor: "1"}, over)
		require.Equal(t, []string{"one"}, textsOf(over.Answers), "too few answers are shown")
	})
}

// answeredInTime asks a question that soon expires, and answers it before, however slow the machine is.
func answeredInTime(t *testing.T, h *house, channel string) string {
	t.Helper()
	for within := 0.1; ; within *= 2 {
		question, err := h.As("alice").Messages.SendMessage(t.Context(), &openintentv1.SendMessageRequest{
			ChannelId: channel, To: new("bob"), MessageType: openintentv1.MessageType_MESSAGE_TYPE_REQUEST.Enum(),
			Payload: &structpb.Struct{}, ExpiresInSeconds: &within,
		})
		require.NoError(t, err)
		_, err = h.As("bob").Messages.ReplyMessage(t.Context(), &openintentv1.ReplyMessageRequest{
			ChannelId: channel, MessageId: question.GetId(), Payload: &structpb.Struct{},
		})
		if err == nil {
			return question.GetId()
		}
		require.Equal(t, codes.FailedPrecondition, status.Code(err), "it has expired")
	}
}

func TestAskSaysWhatIsWrong(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		channel := openChannel(t, h, forMembers, "alice", "bob").GetId()
		alice := h.join(t, "alice")
		for name, wrong := range map[string]arguments{
			"a timeout of nothing": {"timeout_s": -1},
			"a long timeout":       {"timeout_s": 601},
			"no answers":           {"min": -1},
			"many answers":         {"min": 1001},
			"an odd collect":       {"collect": true},
			"an unknown collect":   {"collect": "some"},
			"text and payload":     {"payload": arguments{"a": 1}},
			"another's name":       {"sender": "bob"},
		} {
			given := arguments{"channel": channel, "to": "bob", "text": "?"}
			for argument, value := range wrong {
				given[argument] = value
			}
			require.Equal(t, "INVALID_FIELD", alice.says(t, "ask", given).Refused, name)
		}
		listed, err := h.As("bob").Messages.ListMessages(t.Context(), &openintentv1.ListMessagesRequest{ChannelId: channel})
		require.NoError(t, err)
		require.Empty(t, listed.GetMessages(), "nothing of it was asked")
	})
}

func TestAskGathersAsManyAnswersAsItWants(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		channel := openChannel(t, h, forAll).GetId()
		for _, agent := range []string{"bob", "carol"} {
			_, err := h.As(agent).Agents.RegisterAgent(t.Context(), &openintentv1.RegisterAgentRequest{RoleId: new("tester")})
			require.NoError(t, err)
		}
		alice := h.join(t, "alice")
		came := alice.meanwhile(t, "ask", arguments{"channel": channel, "to": "role:tester", "text": "?", "collect": 2})
		for _, agent := range []string{"bob", "carol"} {
			question := awaitQuestion(t, h, agent)
			require.InDelta(t, 2, question.GetCollect().GetStructValue().GetFields()["quorum"].GetNumberValue(), 0)
			claim, err := h.As(agent).Claims.ClaimMessage(t.Context(), &openintentv1.ClaimMessageRequest{
				ChannelId: channel, MessageId: question.GetId(),
			})
			require.NoError(t, err)
			require.NotZero(t, claim.GetFence())
			h.join(t, agent).says(t, "reply", arguments{"message": question.GetId(), "text": agent})
		}
		answer := within(t, came)
		require.True(t, answer.Answered)
		require.Equal(t, []string{"bob", "carol"}, textsOf(answer.Answers))

		came = alice.meanwhile(t, "ask", arguments{"channel": channel, "to": "role:tester", "text": "who?", "collect": "one", "min": 1})
		require.Equal(t, "one", awaitQuestion(t, h, "bob").GetCollect().GetStringValue())
		connectAndAnswer(t, h, "bob")
		require.Equal(t, []string{"I"}, textsOf(within(t, came).Answers))
	})
}

// connectAndAnswer lets an agent claim and answer the question in its inbox.
func connectAndAnswer(t *testing.T, h *house, agent string) {
	t.Helper()
	question := awaitQuestion(t, h, agent)
	_, err := h.As(agent).Claims.ClaimMessage(t.Context(), &openintentv1.ClaimMessageRequest{
		ChannelId: question.GetChannelId(), MessageId: question.GetId(),
	})
	require.NoError(t, err)
	h.join(t, agent).says(t, "reply", arguments{"message": question.GetId(), "text": "I"})
}

func TestWaitForAChannelGivesWhatComes(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		channel := openChannel(t, h, forAll).GetId()
		alice, bob := h.join(t, "alice"), h.join(t, "bob")
		bob.says(t, "send", arguments{"channel": channel, "text": "before"})
		none := alice.says(t, "wait", arguments{"for": channel, "timeout_s": 0})
		require.Empty(t, none.Messages)
		require.NotEmpty(t, none.Cursor, "there is a cursor even when nothing came")

		came := alice.meanwhile(t, "wait", arguments{"for": channel, "cursor": none.Cursor})
		alice.says(t, "send", arguments{"channel": channel, "text": "my own"})
		bob.says(t, "send", arguments{"channel": channel, "text": "one"})
		first := within(t, came)
		require.Equal(t, []string{"one"}, textsOf(first.Messages))
		for range 12 {
			bob.says(t, "send", arguments{"channel": channel, "text": "more"})
		}
		second := alice.says(t, "wait", arguments{"for": channel, "cursor": first.Cursor})
		third := alice.says(t, "wait", arguments{"for": channel, "cursor": second.Cursor})
		require.Len(t, append(second.Messages, third.Messages...), 12, "what does not fit into an answer comes with the next")
		require.NotEmpty(t, third.Messages)
		require.Empty(t, alice.says(t, "wait", arguments{"for": channel, "cursor": third.Cursor, "timeout_s": 0.05}).Messages)

		since := alice.says(t, "wait", arguments{"for": channel, "cursor": first.Messages[0].ID})
		require.Equal(t, textsOf(second.Messages), textsOf(since.Messages), "a message is a cursor, too")
		require.Equal(t, "INVALID_FIELD", alice.says(t, "wait", arguments{"for": channel, "cursor": "nonsense"}).Refused)
		require.Equal(t, "CURSOR_BEYOND_LOG", alice.says(t, "wait", arguments{"for": channel, "cursor": "999999"}).Refused)

		came = alice.meanwhile(t, "wait", arguments{"for": channel, "cursor": third.Cursor})
		_, err := h.As("alice").Channels.UpdateChannel(t.Context(), closing(channel))
		require.NoError(t, err)
		require.Equal(t, "CHANNEL_CLOSED", within(t, came).Refused)
	})
}

func TestWaitForAMessageGivesWhatFollowsInItsThread(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		channel := openChannel(t, h, forAll).GetId()
		alice, bob := h.join(t, "alice"), h.join(t, "bob")
		root := bob.says(t, "send", arguments{"channel": channel, "text": "root"}).ID
		bob.says(t, "send", arguments{"channel": channel, "text": "beside"})
		came := alice.meanwhile(t, "wait", arguments{"for": root})
		alice.says(t, "send", arguments{"channel": channel, "text": "my own", "thread": root})
		bob.says(t, "send", arguments{"channel": channel, "text": "under", "thread": root})
		first := within(t, came)
		require.Equal(t, []string{"under"}, textsOf(first.Messages))
		require.Equal(t, []string{"under"}, textsOf(alice.says(t, "wait", arguments{"for": root}).Messages), "what has followed is there at once")
		bob.says(t, "send", arguments{"channel": channel, "text": "beside"})
		require.Empty(t, alice.says(t, "wait", arguments{"for": root, "cursor": first.Cursor, "timeout_s": 0.05}).Messages)
		bob.says(t, "send", arguments{"channel": channel, "text": "again", "thread": first.Messages[0].ID})
		require.Equal(t, []string{"again"}, textsOf(alice.says(t, "wait", arguments{"for": root, "cursor": first.Cursor}).Messages))
	})
}

func TestWaitForTheInboxGivesWhatWaitsAndThenWhatComes(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		channel := openChannel(t, h, forMembers, "alice", "bob").GetId()
		alice, bob := h.join(t, "alice"), h.join(t, "bob")
		for range 12 {
			bob.says(t, "send", arguments{"channel": channel, "to": "alice", "text": "waits"})
		}
		var all []string
		cursor := ""
		require.Empty(t, alice.says(t, "wait", arguments{"for": "inbox", "timeout_s": 0.05}).Messages, "what needs no answer ends no wait")
		for len(all) < 12 {
			page := alice.says(t, "wait", arguments{"for": "inbox", "cursor": cursor, "all": true})
			require.NotEmpty(t, page.Messages)
			all, cursor = append(all, textsOf(page.Messages)...), page.Cursor
		}
		require.Len(t, all, 12)
		came := alice.meanwhile(t, "wait", arguments{"for": "inbox", "cursor": cursor, "all": true})
		bob.says(t, "send", arguments{"channel": channel, "to": "alice", "text": "new"})
		require.Equal(t, []string{"new"}, textsOf(within(t, came).Messages), "after what was shown, only what is new")
		require.Equal(t, []string{"new"}, textsOf(alice.says(t, "inbox", arguments{}).Messages), "what it has shown the cursor of is read")
		require.Equal(t, "INVALID_FIELD", alice.says(t, "wait", arguments{"for": channel, "all": true}).Refused)
		for _, wrong := range []string{"x", "x@", "x@-1", "@1x", "-1", "17"} {
			require.Equal(t, "INVALID_FIELD", alice.says(t, "wait", arguments{"for": "inbox", "cursor": wrong}).Refused, wrong)
		}
	})
}

// What was read before hides nothing that waits after it, however few messages one page of the inbox looks at.
func TestTheInboxGoesOnPastWhatWasRead(t *testing.T) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		h := &house{harness.Start(t, harness.Options{URL: url, Configure: func(cfg *server.Config) { cfg.LookedAt = 3 }})}
		channel := openChannel(t, h, forMembers, "alice", "bob").GetId()
		alice, bob := h.join(t, "alice"), h.join(t, "bob")
		for range 12 {
			sent, err := bob.direct.Messages.SendMessage(t.Context(), &openintentv1.SendMessageRequest{
				ChannelId: channel, To: new("alice"), Payload: &structpb.Struct{},
			})
			require.NoError(t, err)
			_, err = alice.direct.Messages.MarkInboxRead(t.Context(), &openintentv1.MarkInboxReadRequest{MessageIds: []string{sent.GetId()}})
			require.NoError(t, err)
		}
		bob.says(t, "send", arguments{"channel": channel, "to": "alice", "text": "waits"})
		page, err := alice.direct.Messages.GetInbox(t.Context(), &openintentv1.GetInboxRequest{})
		require.NoError(t, err)
		require.Empty(t, page.GetItems(), "a page of its own shows nothing")
		require.Equal(t, []string{"waits"}, textsOf(alice.says(t, "wait", arguments{"for": "inbox", "all": true}).Messages))
		require.Equal(t, []string{"waits"}, textsOf(alice.says(t, "inbox", arguments{}).Messages))
	})
}

// A lone caller learns nothing by waiting for what is not its own.
func TestWaitingShowsNothingToStrangers(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		channel := openChannel(t, h, forMembers, "alice", "bob").GetId()
		alice, mallory := h.join(t, "alice"), h.stranger(t)
		message := alice.says(t, "send", arguments{"channel": channel, "text": "secret"}).ID
		unknown := mallory.says(t, "wait", arguments{"for": "msg_01ARZ3NDEKTSV4RRFFQ69G5FAV"})
		require.Equal(t, said{Refused: "NOTHING_TO_WAIT_FOR", Message: unknown.Message}, unknown)
		require.Equal(t, unknown, mallory.says(t, "wait", arguments{"for": message}), "as if it were not there")
		require.NotEmpty(t, mallory.says(t, "wait", arguments{"for": channel}).Refused)
		require.NotEmpty(t, mallory.says(t, "ask", arguments{"channel": channel, "to": "bob", "text": "?"}).Refused)
	})
}

func TestSendWithAKeyIsOneMessageThoughItExpires(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		alice, given := h.join(t, "alice"), arguments{"text": "x", "key": "k", "expires_s": 60, "mentions": []string{"bob", "cora"}}
		given["channel"] = openChannel(t, h, forAll).GetId()
		first := alice.says(t, "send", given).ID
		require.Equal(t, first, alice.says(t, "send", given).ID)
		stored, err := alice.direct.Messages.GetMessage(t.Context(), &openintentv1.GetMessageRequest{ChannelId: given["channel"].(string), MessageId: first})
		require.NoError(t, err)
		require.Equal(t, []string{"bob", "cora"}, stored.GetMentions())
		require.Equal(t, time.Minute, stored.GetExpiresAt().AsTime().Sub(stored.GetCreatedAt().AsTime()))
	})
}

// A server that stops keeps no tool waiting.
func TestAWaitEndsWithItsServer(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		came := h.join(t, "alice").meanwhile(t, "wait", arguments{"for": openChannel(t, h, forAll).GetId()})
		require.Eventually(t, func() bool {
			return strings.Contains(string(h.As("alice").REST(t, "GET", "/metrics", "").Body), "openintent_streams_open 1")
		}, harness.Patience, 20*time.Millisecond)
		require.NoError(t, h.Stop())
		require.Equal(t, "SERVER_STOPPING", within(t, came).Refused)
	})
}
