package messaging

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/messaging/message"
)

func TestADeletedMessageKeepsItsPlace(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		h.say(t, "alice", id, "before")
		sent := h.send(t, "alice", &sendRequest{ChannelId: id, To: ptr("bob"), Payload: content("secret"), Metadata: content("secret")})
		_, err := h.tryEdit(as("alice"), sent, &updateRequest{Payload: content("secret too"), Subject: ptr("s"), Mentions: texts("bob")})
		require.NoError(t, err)
		h.say(t, "alice", id, "after")
		before := h.channel(t, id)
		h.requireCounts(t, "bob", 1, 0)

		deleted := h.erase(t, "alice", sent)
		require.Equal(t, []string{"payload", "metadata", "revision", "edited_at", "deleted_at"}, cmpMessages(sent, deleted))
		require.Empty(t, deleted.GetPayload().GetFields())
		require.Empty(t, deleted.GetMetadata().GetFields())
		require.Equal(t, before.GetMessageCount(), h.channel(t, id).GetMessageCount())
		require.Equal(t, []string{"before", "", "after"}, textsOf(h.list(t, "bob", &listRequest{ChannelId: id})))
		require.Empty(t, cmpMessages(deleted, h.get(t, id, sent.GetId())))
		require.Empty(t, h.said(t, "bob", sent))
		require.Zero(t, h.allRevisionRows(t))
		h.requireCounts(t, "bob", 0, 0)
		f := h.follow(t, "bob", id, ptr(int64(0)))
		require.Equal(t, []string{"before", "", "after"}, f.texts(t, 3))

		require.Empty(t, cmpMessages(deleted, h.erase(t, "alice", sent)), "repeats are harmless")
		made := h.annotations(t, sent)
		require.Equal(t, message.AnnotationDeletion, made[len(made)-1].Type)
		require.Len(t, made, 2)
		_, err = h.tryEdit(as("alice"), sent, &updateRequest{Payload: content("again")})
		faulttest.Require(t, err, fault.Conflict, "MESSAGE_DELETED")
		h.closeChannel(t, id)
		require.Empty(t, cmpMessages(deleted, h.erase(t, "alice", sent)), "also later")
	})
}

func TestWhoMayDelete(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		open := h.say(t, "alice", id, "all")
		private := h.send(t, "alice", &sendRequest{ChannelId: id, To: ptr("bob"), Payload: content("one")})
		_, err := h.tryDelete(as("bob"), private)
		faulttest.Require(t, err, fault.Denied, "NOT_THE_SENDER")
		_, err = h.tryDelete(as("creator"), private)
		faulttest.Require(t, err, fault.NotFound, "MESSAGE_NOT_FOUND")
		_, err = h.messaging.DeleteMessage(as("bob"), &openintentv1.DeleteMessageRequest{
			ChannelId: id, MessageId: open.GetId(), AgentId: ptr("alice"),
		})
		faulttest.Require(t, err, fault.Denied, "SENDER_MISMATCH")
		h.erase(t, "creator", open)
		require.Equal(t, "creator", h.annotations(t, open)[0].AgentID)
		_, err = h.tryDelete(asOperator(), private)
		require.NoError(t, err)

		late := h.say(t, "alice", id, "late")
		h.closeChannel(t, id)
		_, err = h.tryDelete(as("alice"), late)
		faulttest.Require(t, err, fault.Conflict, "CHANNEL_CLOSED")
	})
}

func TestWhatIsCopiedIsNotDeleted(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.audited(t)
		sent := h.say(t, "alice", id, "copied")
		_, err := h.tryDelete(as("alice"), sent)
		faulttest.Require(t, err, fault.Conflict, "AUDITED")
		h.setAudit(t, id, false)
		_, err = h.tryDelete(as("alice"), sent)
		faulttest.Require(t, err, fault.Conflict, "AUDITED")
		free := h.say(t, "alice", id, "not copied")
		h.erase(t, "alice", free)
		early := h.say(t, "alice", id, "not copied either")
		h.setAudit(t, id, true)
		_, err = h.tryDelete(as("alice"), early)
		faulttest.Require(t, err, fault.Conflict, "AUDITED") // on an audited channel nothing is deleted
		require.Equal(t, "copied", textOf(h.get(t, id, sent.GetId())))
	})
}

func TestADeletedRequestExpires(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.register(t, "bob", "judge")
		id := h.open(t)
		for _, to := range []string{"bob", "role:judge"} {
			question := h.asks(t, "alice", id, to)
			h.requireCounts(t, "bob", 1, 1)
			require.Equal(t, expired, h.erase(t, "alice", question).GetStatus())
			h.requireCounts(t, "bob", 0, 0)
			require.False(t, h.sees(t, "bob", question), "as any expired request")
			_, err := h.tryReply(as("bob"), id, question.GetId(), "late")
			faulttest.Require(t, err, fault.Conflict, "MESSAGE_DELETED")
			got, err := h.awaits(t, "alice", question)
			require.NoError(t, err)
			require.Empty(t, got)
		}
	})
}

func TestTheAnswerToADeletedRequestStays(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		question := h.asks(t, "alice", id, "bob")
		h.reply(t, "bob", id, question.GetId(), "answer")
		require.Equal(t, delivered, h.erase(t, "alice", question).GetStatus())
		require.True(t, h.sees(t, "bob", question), "its place is shown")
		for range 3 { // the first refusal has read the request, and the writer knows it then
			_, err := h.tryReply(as("bob"), id, question.GetId(), "another")
			faulttest.Require(t, err, fault.Conflict, "MESSAGE_DELETED")
		}
		got, err := h.awaits(t, "alice", question)
		require.NoError(t, err)
		require.Equal(t, []string{"answer"}, textsOf(got))
	})
}

// A manager that asks twice to delete a request to itself gets the same answer twice, although the request has expired.
func TestAManagerDeletesARequestTwice(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		question := h.asks(t, "alice", h.open(t), "creator")
		first := h.erase(t, "creator", question)
		require.Empty(t, cmpMessages(first, h.erase(t, "creator", question)))
	})
}

func TestDeletingARequestEndsItsAsk(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		asking := h.askMeanwhile(as("alice"), t, id, 600)
		h.erase(t, "alice", asking.request)
		f := faulttest.Require(t, asking.result(t).err, fault.Conflict, "MESSAGE_DELETED")
		require.Equal(t, asking.request.GetId(), f.Metadata["message_id"])

		gathering := h.askAllMeanwhile("alice", &askAllRequest{ChannelId: id, To: "bob", Payload: content("?"), TimeoutSeconds: ptr(600.0)})
		asked := h.awaitRequest(t, id)
		h.erase(t, "alice", asked)
		got := within(t, gathering)
		require.NoError(t, got.err)
		require.Empty(t, got.responses)
	})
}

func TestDeletingARequestEndsItsAskOnTheOtherReplica(t *testing.T) {
	eachWay(t, func(t *testing.T, one, other *house) {
		id := one.open(t)
		asking := one.askMeanwhile(as("alice"), t, id, 600)
		waiting := one.awaitMeanwhile(as("alice"), t, &awaitRequest{
			ChannelId: id, MessageId: asking.request.GetId(), WaitSeconds: ptr(600.0),
		})
		other.erase(t, "alice", asking.request)
		faulttest.Require(t, asking.result(t).err, fault.Conflict, "MESSAGE_DELETED")
		require.NoError(t, within(t, waiting).err)
	})
}

// Revisions go with their message, whatever removes it.
func TestRevisionsGoWithTheirMessage(t *testing.T) {
	for name, remove := range map[string]func(t *testing.T, h *house, id string){
		"evicted": func(t *testing.T, h *house, id string) {
			h.say(t, "alice", id, "the next one")
			h.removeEvicted(t, id)
		},
		"its channel deleted": func(t *testing.T, h *house, id string) {
			h.deleteChannel(t, id)
			h.sweep(t)
		},
		"its intent purged": func(t *testing.T, h *house, id string) {
			h.setStatus(t, h.channel(t, id).GetIntentId(), completed)
			h.clock.Advance(25 * time.Hour)
			h.sweep(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, h *house) {
				id := h.small(t, 1)
				h.edit(t, "alice", h.say(t, "alice", id, "one"), "two")
				require.Equal(t, 2, h.allRevisionRows(t))
				remove(t, h, id)
				require.Zero(t, h.allRevisionRows(t))
			})
		})
	}
}
