package e2e

import (
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"openintent/e2e/harness"
	"openintent/e2e/model"
	openintentv1 "openintent/gen/openintent/v1"
)

// asked is the result of an Ask or AskAll.
type asked struct {
	answers []*openintentv1.Message
	err     error
}

// ask asks a question of one agent or of all, and then has it answered, lets it run out, or closes its channel.
func (y *history) ask(t *rapid.T) {
	d := y.drawDraft(t)
	d.Type, d.ExpiresAt, d.Timeout = "request", time.Time{}, 5*time.Second
	d.Channel = y.drawChannel(t)
	if d.To == "" || d.To == "*" {
		d.To = y.drawAgent(t, "asked")
	}
	q := &question{history: y, verdict: y.world.Decide(d), draft: d, all: seldom(t, "all")}
	if unsaid(d.Channel, q.verdict.Outcome) {
		return
	}
	if q.verdict.Outcome != model.OK {
		_, err := q.call()()
		y.came(t, q.operation(), q.verdict.Outcome, err)
		y.wrote()
		return
	}
	q.request = q.verdict.First
	var questions following
	if q.request == nil {
		questions = y.subscribe(t, model.Operator, d.Channel, nil)
	}
	done := make(chan asked, 1)
	call := q.call()
	go func() {
		answers, err := call()
		done <- asked{answers, err}
	}()
	if q.request == nil {
		mark, err := questions.Recv()
		require.NoError(t, err)
		require.True(t, mark.GetCaughtUp(), "a stream that begins now has caught up immediately")
		delivery, err := questions.Recv()
		require.NoError(t, err)
		y.stored(t, q.verdict, delivery.GetMessage())
		q.request = y.world.Messages[delivery.GetMessage().GetId()]
	}
	if q.goesOn() {
		q.proceed(t)
	}
	q.compare(t, q.expect(), awaitAsked(t, done))
	y.wrote()
	y.check(t, d.Channel)
}

// question is one Ask or AskAll, on the server's side and on the model's.
type question struct {
	*history
	draft   model.Draft
	verdict model.Verdict
	all     bool
	request *model.Message
}

func (q *question) operation() string {
	if q.all {
		return "ask all"
	}
	return "ask"
}

// call makes the call; it returns when the wait is over.
func (q *question) call() func() ([]*openintentv1.Message, error) {
	d, messages := q.draft, q.as(q.draft.Caller).Messages
	if q.all {
		return func() ([]*openintentv1.Message, error) {
			got, err := messages.AskAll(q.ctx, &openintentv1.AskAllRequest{
				ChannelId: d.Channel.ID, Sender: given(d.Sender), To: d.To, Payload: payload(d.Payload),
				TimeoutSeconds: proto.Float64(d.Timeout.Seconds()), IdempotencyKey: given(d.Key),
			})
			return got.GetResponses(), err
		}
	}
	return func() ([]*openintentv1.Message, error) {
		got, err := messages.Ask(q.ctx, &openintentv1.AskRequest{
			ChannelId: d.Channel.ID, Sender: given(d.Sender), To: d.To, Payload: payload(d.Payload),
			TimeoutSeconds: proto.Float64(d.Timeout.Seconds()), IdempotencyKey: given(d.Key),
		})
		return []*openintentv1.Message{got}, err
	}
}

func (q *question) asker() string {
	if q.draft.Sender != "" {
		return q.draft.Sender
	}
	return q.draft.Caller
}

// answers returns the responses that the asker may see now.
func (q *question) answers() ([]*model.Message, model.Outcome) {
	return q.world.Responses(q.asker(), q.request.Channel, q.request)
}

// goesOn reports whether the wait cannot end by itself.
func (q *question) goesOn() bool {
	answers, outcome := q.answers()
	return outcome == model.OK && q.request.Channel.Open() && q.world.Now.Before(q.request.ExpiresAt) &&
		(q.all || len(answers) == 0)
}

// proceed makes something happen that ends the wait.
func (q *question) proceed(t *rapid.T) {
	request := q.request
	how := pick(t, "how it ends", []string{"answer", "answer", "run out", "close"})
	if how == "close" {
		q.closeChannel(t, model.Operator, request.Channel)
		return
	}
	if how == "answer" && !request.Expired(q.world.Now) {
		q.answer(t)
	}
	if q.goesOn() {
		q.set(request.ExpiresAt)
	}
}

// answer makes a recipient reply, or the operator if there is no recipient.
func (q *question) answer(t *rapid.T) {
	replier := model.Operator
	for _, agent := range q.agents {
		if q.world.Receives(agent, q.request) {
			replier = agent
		}
	}
	d := model.Draft{Caller: replier, Channel: q.request.Channel, Reply: true, Content: model.Content{
		Type: "response", CorrelationID: q.request.ID, Payload: "answer",
	}}
	verdict := q.world.Decide(d)
	require.Equal(t, model.OK, verdict.Outcome)
	got, err := q.as(replier).Messages.ReplyMessage(q.ctx, &openintentv1.ReplyMessageRequest{
		ChannelId: d.Channel.ID, MessageId: q.request.ID, Payload: payload("answer"),
	})
	require.NoError(t, err)
	q.stored(t, verdict, got)
}

// expectedAnswers is the result that the wait must have.
type expectedAnswers struct {
	answers []*model.Message
	outcome model.Outcome
}

func (q *question) expect() expectedAnswers {
	answers, refused := q.answers()
	switch {
	case refused != model.OK:
		return expectedAnswers{nil, refused}
	case q.all:
		return expectedAnswers{answers, model.OK}
	case len(answers) > 0:
		return expectedAnswers{answers[:1], model.OK}
	case !q.request.Channel.Open():
		return expectedAnswers{nil, "CHANNEL_CLOSED"}
	}
	return expectedAnswers{nil, "MESSAGE_TIMEOUT"}
}

func (q *question) compare(t *rapid.T, expected expectedAnswers, got asked) {
	if !q.came(t, q.operation(), expected.outcome, got.err) {
		require.Equal(t, q.request.ID, harness.Metadata(got.err)["message_id"], "the asker can pick its question up again")
		return
	}
	q.sameMessages(t, expected.answers, got.answers)
}

func awaitAsked(t *rapid.T, done <-chan asked) asked {
	select {
	case result := <-done:
		return result
	case <-time.After(harness.Patience):
		t.Fatal("the wait does not end")
		return asked{}
	}
}
