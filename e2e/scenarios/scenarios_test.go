package scenarios

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHandoffClarification plays the handoff clarification. An agent that took over a task asks the agent that knows
// the data, without a new intent, without touching the intent's state, and without anybody else seeing it.
func TestHandoffClarification(t *testing.T) {
	play(t, func(t *testing.T, as cast) {
		coordinator, research, data, outsider := as("coordinator"), as("research-agent"), as("data-agent"), as("outsider")
		intent := coordinator.createIntent("Research Q1 financials")
		stateBefore, versionBefore := coordinator.state(intent)
		eventsBefore := coordinator.events(intent)
		channel := research.createChannel(intent, "data-clarification", false, "research-agent", "data-agent")

		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		inbox := data.follow(ctx, channel, 0)
		type asked struct {
			answer message
			no     *refusal
		}
		answered := make(chan asked, 1)
		go func() {
			answer, no := research.ask(channel, "data-agent", object{
				"question": "What schema version does the Q1 dataset use?", "context": object{"dataset": "q1_financials"},
			}, 60)
			answered <- asked{answer, no}
		}()

		request := next(t, inbox)
		require.Equal(t, "research-agent", request.Sender)
		require.Equal(t, "request", request.MessageType)
		require.Equal(t, object{"dataset": "q1_financials"}, request.Payload["context"])
		reply, no := data.reply(channel, request.ID, object{"answer": "v2.3", "confidence": 0.95})
		allowed(t, no)
		require.Equal(t, to("research-agent"), reply.To)

		got := <-answered
		allowed(t, got.no)
		require.Equal(t, reply.ID, got.answer.ID)
		require.Equal(t, "response", got.answer.MessageType)
		require.Equal(t, &request.ID, got.answer.CorrelationID)
		require.Equal(t, object{"answer": "v2.3", "confidence": 0.95}, got.answer.Payload)

		_, no = outsider.list(channel, "")
		refused(t, no, "NOT_A_MEMBER")
		_, no = outsider.reply(channel, request.ID, object{"answer": "v9"})
		refused(t, no, "NOT_A_MEMBER")
		stateAfter, versionAfter := coordinator.state(intent)
		require.Equal(t, stateBefore, stateAfter)
		require.Equal(t, versionBefore, versionAfter)
		require.Equal(t, eventsBefore, coordinator.events(intent), "a channel without audit leaves the log alone")
	})
}

// TestIncrementalResults plays the incremental results. In a row of three agents, each one tells the next that a
// batch is ready. Each reads at its own pace, continues where it stopped, and receives only what is for it.
func TestIncrementalResults(t *testing.T) {
	play(t, func(t *testing.T, as cast) {
		collect, clean, report := as("collector"), as("cleaner"), as("reporter")
		intent := collect.createIntent("Process the archive")
		tell := func(from face, recipient string, batch int) message {
			sent, no := from.sendByName(intent, "batches", message{To: to(recipient), Payload: object{
				"batch": float64(batch), "format": "parquet", "location": "s3://archive/batch",
			}})
			allowed(t, no)
			return sent
		}

		first := tell(collect, "cleaner", 1) // this creates the channel
		require.Equal(t, "notify", first.MessageType)
		channel := first.ChannelID
		tell(collect, "cleaner", 2)

		page, no := clean.list(channel, "")
		allowed(t, no)
		require.Len(t, page, 2)
		require.Equal(t, "read", clean.markRead(channel, page[0].ID).Status)
		tell(clean, "reporter", 1)
		tell(collect, "cleaner", 3)

		// The cleaner was away after its first batch; its cursor is the last batch that it worked on.
		page, no = clean.list(channel, first.ID)
		allowed(t, no)
		require.Equal(t, []any{2.0, 1.0, 3.0}, []any{page[0].Payload["batch"], page[1].Payload["batch"], page[2].Payload["batch"]})
		require.Equal(t, []string{"collector", "cleaner", "collector"}, []string{page[0].Sender, page[1].Sender, page[2].Sender})

		// The reporter receives only its own batch, and a stream continues after any position.
		page, no = report.list(channel, "")
		allowed(t, no)
		require.Len(t, page, 1)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stream := report.follow(ctx, channel, 0)
		delivered := next(t, stream)
		require.Equal(t, page[0].ID, delivered.ID)
		second := tell(clean, "reporter", 2)
		require.Equal(t, second.ID, next(t, stream).ID)
		require.Equal(t, second.ID, next(t, report.follow(ctx, channel, delivered.position)).ID)

		// The sender sees that a batch was read.
		page, no = collect.list(channel, "")
		allowed(t, no)
		require.Equal(t, "read", page[0].Status)
		require.NotNil(t, page[0].ReadAt)
		require.Equal(t, "delivered", page[1].Status)

		require.EqualValues(t, 5, collect.channel(channel).MessageCount)
		collect.completeIntent(intent)
		require.Equal(t, "closed", collect.channel(channel).Status)
		_, no = collect.send(channel, message{To: to("cleaner"), Payload: object{"batch": 4.0}})
		refused(t, no, "CHANNEL_CLOSED")
		page, no = report.list(channel, "")
		allowed(t, no)
		require.Len(t, page, 2, "messages that were sent can still be read")
	})
}

// TestNegotiation plays the negotiation. Before one agent takes over a part, it asks the other, which may still be
// working on it, on a channel whose messages the log keeps.
func TestNegotiation(t *testing.T) {
	play(t, func(t *testing.T, as cast) {
		ann, ben := as("ann"), as("ben")
		intent := ann.createIntent("Write the handbook")
		channel := ann.createChannel(intent, "sections", true)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		inbox := ben.follow(ctx, channel, 0)

		answers := make(chan message, 1)
		go func() {
			answer, no := ann.ask(channel, "ben", object{"question": "Are you still working on section X, or can I take it?"}, 60)
			if no == nil {
				answers <- answer
			}
			close(answers)
		}()
		question := next(t, inbox)
		_, no := ben.reply(channel, question.ID, object{"take": true})
		allowed(t, no)
		answer := <-answers
		require.Equal(t, object{"take": true}, answer.Payload)

		// Ben is away: the question expires, and his answer comes too late.
		_, no = ann.ask(channel, "ben", object{"question": "And section Y?"}, 0.05)
		refused(t, no, "MESSAGE_TIMEOUT")
		require.Equal(t, "DEADLINE_EXCEEDED", no.Code)
		unanswered := no.MessageID
		_, no = ben.reply(channel, unanswered, object{"take": false})
		refused(t, no, "MESSAGE_EXPIRED")
		mine, no := ann.list(channel, answer.ID)
		allowed(t, no)
		require.Len(t, mine, 1)
		require.Equal(t, unanswered, mine[0].ID)
		require.Equal(t, "expired", mine[0].Status)
		hers, no := ben.list(channel, answer.ID)
		allowed(t, no)
		require.Empty(t, hers, "an expired request is not delivered")

		// The log keeps who said what, and its chain is intact.
		var logged []string
		for _, e := range ann.events(intent) {
			if e.EventType == "channel_message" {
				require.Equal(t, channel, e.Payload["channel_id"])
				logged = append(logged, e.Actor+" "+e.Payload["message_type"].(string))
			}
		}
		require.Equal(t, []string{"ann request", "ben response", "ann request"}, logged)
		require.True(t, ann.verifies(intent))
	})
}
