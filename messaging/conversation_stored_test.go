package messaging

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/channels"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/messaging/message"
	"openintent/messaging/obligation"
	"openintent/messaging/writing"
)

func TestARepeatGetsTheFirstConversation(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.create(t, &createRequest{Options: &optionsInput{MaxMessages: ptr(int64(2))}})
		root := h.say(t, "bob", id, "root")
		draft := func() *sendRequest {
			r := keyed(id, "k", "look, @bob and @carol")
			r.ParentId, r.Priority = &root.Id, lowPriority.Enum()
			return r
		}
		first := h.send(t, "alice", draft())
		require.Equal(t, []string{"bob"}, first.GetMentions(), "carol takes no part yet")
		require.Empty(t, cmpMessages(first, h.send(t, "alice", draft())), "at once")
		h.say(t, "carol", id, "now I do")
		h.say(t, "carol", id, "and push the others out")
		h.sweep(t)
		require.Empty(t, cmpMessages(first, h.send(t, "alice", draft())), "after the parent is gone")
		for name, change := range map[string]func(*sendRequest){
			"another priority": func(r *sendRequest) { r.Priority = urgent.Enum() },
			"no priority":      func(r *sendRequest) { r.Priority = nil },
			"no parent":        func(r *sendRequest) { r.ParentId = nil },
			"no mentions":      func(r *sendRequest) { r.Mentions = names() },
			"given mentions":   func(r *sendRequest) { r.Mentions = names("bob") },
			"a subject":        func(r *sendRequest) { r.Subject = ptr("x") },
		} {
			changed := draft()
			change(changed)
			_, err := h.messaging.SendMessage(as("alice"), changed)
			require.Error(t, err, name)
			faulttest.Require(t, err, fault.AlreadyExists, "IDEMPOTENCY_KEY_REUSED")
		}

		none := keyed(id, "none", "nobody @here")
		h.send(t, "alice", none)
		none.Mentions = names()
		_, err := h.messaging.SendMessage(as("alice"), none)
		faulttest.Require(t, err, fault.AlreadyExists, "IDEMPOTENCY_KEY_REUSED")
	})
}

func TestAskingCarriesTheConversation(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		h.say(t, "bob", id, "here")
		asked := make(chan *wireMessage, 1)
		go func() {
			answer, _ := h.messaging.Ask(as("alice"), &askRequest{
				ChannelId: id, To: "bob", Subject: ptr("s"), Collect: structpb.NewStringValue("one"), Payload: content("@bob?"),
			})
			asked <- answer
		}()
		question := h.awaitRequest(t, id)
		require.Equal(t, "s", question.GetSubject())
		require.Equal(t, "one", question.GetCollect().GetStringValue())
		require.Equal(t, []string{"bob"}, question.GetMentions())
		reply, err := h.messaging.ReplyMessage(as("bob"), &replyRequest{
			ChannelId: id, MessageId: question.GetId(), Kind: ptr("k"), Payload: content("yes"),
		})
		require.NoError(t, err)
		require.Empty(t, cmpMessages(reply, <-asked))
		require.Equal(t, "k", reply.GetKind())
	})
}

func TestTheAuditedCopyHoldsTheConversation(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.audited(t)
		root := h.say(t, "bob", id, "root")
		taskID := h.task(t, id)
		h.send(t, "alice", &sendRequest{
			ChannelId: id, ParentId: &root.Id, Subject: ptr("s"), Kind: ptr("k"), TaskId: &taskID, Priority: urgent.Enum(),
			To: ptr("bob"), MessageType: request.Enum(), Collect: quorum(1), Directedness: ambient.Enum(), Policy: mayRespond.Enum(),
			Payload: content("@bob"),
		})
		copies := h.copies(t, id)
		require.Len(t, copies, 2)
		require.NotContains(t, copies[0].GetPayload().AsMap(), "subject")
		said := copies[1].GetPayload().AsMap()
		for key, value := range map[string]any{
			"parent_id": root.GetId(), "thread_id": root.GetId(), "subject": "s", "kind": "k", "task_id": taskID, "priority": "urgent",
			"mentions": []any{"bob"}, "collect": map[string]any{"quorum": 1.0}, "directedness": "ambient", "policy": "may_respond",
		} {
			require.Equal(t, value, said[key], key)
		}
		h.requireChain(t, id)
	})
}

// What needs nothing read is still stored in one round trip; only a parent, a task and possible names are read.
func TestWhatNeedsNothingReadIsStoredAtOnce(t *testing.T) {
	eachRemembering(t, func(t *testing.T, h *house, atOnce *atomic.Int64) {
		id := h.open(t)
		root := h.say(t, "alice", id, "root")
		taskID := h.task(t, id)
		h.say(t, "alice", id, "finds the head moved")
		h.say(t, "alice", id, "finds it unmoved, so it is cached again")
		for name, row := range map[string]struct {
			once bool
			req  *sendRequest
		}{
			"plain":    {true, &sendRequest{Payload: content("x")}},
			"subject":  {true, &sendRequest{Payload: content("x"), Subject: ptr("s"), Priority: urgent.Enum()}},
			"mentions": {true, &sendRequest{Payload: content("@bob"), Mentions: names("carol")}},
			"no names": {true, &sendRequest{Payload: content("a@b `@c`")}},
			"found":    {false, &sendRequest{Payload: content("@bob")}},
			"parent":   {false, &sendRequest{Payload: content("x"), ParentId: &root.Id}},
			"task":     {false, &sendRequest{Payload: content("x"), TaskId: &taskID}},
		} {
			before := atOnce.Load()
			row.req.ChannelId = id
			h.send(t, "alice", row.req)
			require.Equal(t, row.once, atOnce.Load() > before, name)
		}
	})
}

// Messages with and without a conversation are stored together, each with its own.
func TestOneBatchHoldsPlainMessagesAndOthers(t *testing.T) {
	eachFaultyEngine(t, func(t *testing.T, h *house, f *faults) {
		id := h.open(t)
		waiting, release := f.hold()
		defer release()
		stored := []*submitted{h.submit(t, id, "alice", "first")}
		<-waiting
		for i, subject := range []string{"", "one", "", "two", ""} {
			d := h.draftFor(t, id, "alice", "said")
			d.Key = fmt.Sprint(i)
			require.NoError(t, d.SetConversation(&sendRequest{Subject: &subject}))
			require.NoError(t, d.Seal())
			stored = append(stored, h.enqueue(t, d))
		}
		release()
		var subjects []string
		for _, s := range stored {
			out := <-s.done
			require.NoError(t, out.Err)
			subjects = append(subjects, h.get(t, id, out.Message.ID).GetSubject())
		}
		require.Equal(t, []string{"", "", "one", "", "two", ""}, subjects)
		require.Equal(t, 2, h.rows(t, "messages", "conversation IS NOT NULL"))
		require.Equal(t, 2, h.rows(t, "idempotency_keys", "conversation IS NOT NULL"))
	})
}

// A batch decides its later drafts by what it has stored for the earlier ones: the channel that it made for a name, the content of a document,
// and the open obligations of an author.
func TestABatchDecidesByWhatItHasStored(t *testing.T) {
	eachFaultyEngine(t, func(t *testing.T, h *house, f *faults) {
		id := h.open(t)
		waiting, release := f.hold()
		defer release()
		h.submit(t, id, "alice", "first")
		<-waiting
		together := func(count int, change func(d *writing.Draft)) (stored []*submitted) {
			for range count {
				d := h.draftFor(t, id, "alice", "said")
				change(d)
				stored = append(stored, h.enqueue(t, d))
			}
			return stored
		}
		named := together(2, func(d *writing.Draft) { d.Name, d.Channel, d.ChannelID = "new", channels.Key{}, "" })
		documents := together(2, func(d *writing.Draft) {
			require.NoError(t, d.SetConversation(publishing(id, "state", "", ptr(""))))
		})
		owed := together(obligation.MaxOpen+1, func(d *writing.Draft) {
			d.MessageType, d.Target = message.TypeRequest, "bob"
			require.NoError(t, d.SetConversation(&sendRequest{Obligation: &openintentv1.Obligation{}}))
		})
		release()
		outcomes := func(stored []*submitted) (out []writing.Outcome) {
			for i, s := range stored {
				out = append(out, <-s.done)
				if i < len(stored)-1 {
					require.NoError(t, out[i].Err)
				}
			}
			return out
		}
		made := outcomes(named)
		require.NoError(t, made[1].Err)
		require.Equal(t, made[0].Message.ChannelID, made[1].Message.ChannelID)
		faulttest.Require(t, outcomes(documents)[1].Err, fault.PreconditionFailed, "DOCUMENT_CHANGED")
		faulttest.Require(t, outcomes(owed)[obligation.MaxOpen].Err, fault.Quota, "TOO_MANY_OBLIGATIONS")
	})
}
