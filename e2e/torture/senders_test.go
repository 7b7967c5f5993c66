package torture

import (
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// attemptTime is how long a client waits for an answer to a call before it repeats the call.
const attemptTime = 10 * time.Second

// startSenders starts all senders. They continue until stopping is closed, and then finish their current call.
func (w *world) startSenders(ctx context.Context) {
	for _, name := range senderNames() {
		w.startSender(ctx, w.client(name, "sending of "+name), (*client).sendSomething, 150*time.Millisecond)
	}
	for i, name := range askerNames() {
		asking := (*client).ask
		if i == 0 {
			asking = (*client).askLater
		}
		w.startSender(ctx, w.client(name, "asking of "+name), asking, 200*time.Millisecond)
	}
	w.startReacting(ctx)
	w.startRefusing(ctx)
	w.senders.Go(func() { w.client("", "changing of mona's rights").changeMona(ctx) })
}

// startSender runs do repeatedly. Between two runs it rests for a random time below a bound.
func (w *world) startSender(ctx context.Context, c *client, do func(c *client, ctx context.Context, number int), rest time.Duration) {
	w.senders.Go(func() {
		for number := 0; !w.stopped() && c.rest(ctx, rest/10, rest); number++ {
			do(c, ctx, number)
		}
	})
}

// place picks a channel that the agent may send to.
func (c *client) place() place {
	for {
		at := c.channels[c.random.IntN(len(c.channels))]
		if slices.Contains(at.members, c.agent) {
			return at
		}
	}
}

// sendSomething sends a message or appends an event. It makes some calls only once, so that their outcomes may stay unknown.
func (c *client) sendSomething(ctx context.Context, number int) {
	at := c.place()
	content := fmt.Sprintf("%s's message %d", c.agent, number)
	send := &Send{Sender: c.agent, Intent: at.intent, Channel: at.id, To: everyone, Kind: Notify, Content: content}
	switch c.random.IntN(10) {
	case 0:
		c.appendEvent(ctx, send)
		return
	case 1, 2, 3:
		send.Kind = Broadcast
	case 4, 5:
		targets := slices.Concat([]string{anna, bert, carl}, senderNames(), askerNames())
		if len(at.members) < len(participants()) {
			targets = slices.DeleteFunc(targets, func(target string) bool { return !slices.Contains(at.members, target) })
		}
		targets = slices.DeleteFunc(targets, func(target string) bool { return target == c.agent })
		send.To = targets[c.random.IntN(len(targets))]
	case 6:
		send.To = "role:" + guards
		if c.once(2) { // a request that nobody answers
			send.Kind = Request
		}
	}
	request := &openintentv1.SendMessageRequest{
		ChannelId: at.id, To: &send.To, MessageType: wireKinds[send.Kind].Enum(), Payload: payloadOf(content),
	}
	c.begin(send)
	post := func(ctx context.Context, as *harness.Caller) (*openintentv1.Message, error) {
		return as.Messages.SendMessage(ctx, request)
	}
	if c.once(4) {
		attempt, cancel := context.WithTimeout(ctx, attemptTime)
		defer cancel()
		message, err := post(attempt, c.caller())
		c.came(send, message, 1, err)
		return
	}
	request.IdempotencyKey = &content
	message, attempts, err := insist(ctx, c, attemptTime, post)
	c.came(send, message, attempts, err)
}

// came records the outcome of a send.
func (c *client) came(send *Send, message *openintentv1.Message, attempts int, err error) {
	switch {
	case err == nil:
		c.settle(send, func() { send.Acknowledged, send.ID = true, message.GetId() })
	case transient(err):
		c.settle(send, func() {})
	case harness.Reason(err) == "REFUSED":
		c.settle(send, func() { send.Refused, send.Unwelcome = attempts == 1, true })
	default:
		// An earlier attempt may still be running if rights have changed meanwhile. Here, a send is refused only because its
		// time ran out.
		c.settle(send, func() { send.Refused = attempts == 1 })
		if send.Kind != Response {
			c.problem("%s's send was refused: %v", send.Sender, err)
		}
	}
}

// appendEvent appends an event to the log. This call cannot be repeated.
func (c *client) appendEvent(ctx context.Context, send *Send) {
	send.Kind, send.Channel = LoggedEvent, ""
	c.begin(send)
	attempt, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	event, err := c.caller().Events.AppendEvent(attempt, &openintentv1.AppendEventRequest{
		IntentId: send.Intent, EventType: tortureEvent, Payload: payloadOf(send.Content),
	})
	c.settle(send, func() { send.Acknowledged, send.ID = err == nil, event.GetId() })
	if err != nil && !transient(err) {
		c.problem("%s could not append an event: %v", c.agent, err)
	}
}

// question draws a question to an agent that answers.
func (c *client) question(number int) *Ask {
	at := c.place()
	to := answerer
	if c.once(2) {
		to = "role:" + solvers
	}
	return &Ask{Send: Send{
		Sender: c.agent, Intent: at.intent, Channel: at.id, To: to, Kind: Request,
		Content: fmt.Sprintf("%s's question %d", c.agent, number),
	}}
}

// ask asks and waits, mostly for one answer, and sometimes for all answers within a given time.
func (c *client) ask(ctx context.Context, number int) {
	q := c.question(number)
	q.All = c.once(4)
	q.To = map[bool]string{true: "role:" + solvers, false: q.To}[q.All]
	c.beginAsk(q)
	if q.All {
		answer, _, err := insist(ctx, c, attemptTime, func(ctx context.Context, as *harness.Caller) (*openintentv1.AskAllResponse, error) {
			return as.Messages.AskAll(ctx, &openintentv1.AskAllRequest{
				ChannelId: q.Channel, To: q.To, Payload: payloadOf(q.Content), IdempotencyKey: &q.Content,
				TimeoutSeconds: proto.Float64(2),
			})
		})
		c.asked(q, answer.GetResponses(), err)
		return
	}
	answer, _, err := insist(ctx, c, attemptTime, func(ctx context.Context, as *harness.Caller) (*openintentv1.Message, error) {
		return as.Messages.Ask(ctx, &openintentv1.AskRequest{
			ChannelId: q.Channel, To: q.To, Payload: payloadOf(q.Content), IdempotencyKey: &q.Content,
			TimeoutSeconds: proto.Float64(4),
		})
	})
	if err != nil {
		c.asked(q, nil, err)
		return
	}
	c.asked(q, []*openintentv1.Message{answer}, nil)
}

// asked records the outcome of a question.
func (c *client) asked(q *Ask, answers []*openintentv1.Message, err error) {
	timedOut := harness.Reason(err) == messageTimeout
	c.settle(&q.Send, func() {
		for _, answer := range answers {
			q.ID = answer.GetCorrelationId()
			q.Answers = append(q.Answers, c.keep(messageOf(q.Intent, answer)))
		}
		q.Acknowledged = len(answers) > 0
		q.Complete = timedOut || q.All && err == nil
		if timedOut {
			q.ID = harness.Metadata(err)["message_id"]
		}
	})
	if err != nil && !transient(err) {
		c.problem("%s's question failed: %v", c.agent, err)
	}
}

// askLater sends a question without waiting. pickUp gets its answer at the end.
func (c *client) askLater(ctx context.Context, number int) {
	q := c.question(number)
	q.All = true
	c.beginAsk(q)
	request := &openintentv1.SendMessageRequest{
		ChannelId: q.Channel, To: &q.To, MessageType: wireKinds[Request].Enum(), Payload: payloadOf(q.Content),
		IdempotencyKey: &q.Content,
	}
	message, attempts, err := insist(ctx, c, attemptTime, func(ctx context.Context, as *harness.Caller) (*openintentv1.Message, error) {
		return as.Messages.SendMessage(ctx, request)
	})
	c.came(&q.Send, message, attempts, err)
}

// pickUp gets the answers to the questions that were sent without waiting.
func (w *world) pickUp(ctx context.Context) {
	c := w.client(askerNames()[0], "picking up")
	for _, q := range w.history.Asks {
		if q.Sender != c.agent || !q.Acknowledged {
			continue
		}
		answer, _, err := insist(ctx, c, attemptTime, func(ctx context.Context, as *harness.Caller) (*openintentv1.AwaitResponsesResponse, error) {
			return as.Messages.AwaitResponses(ctx, &openintentv1.AwaitResponsesRequest{ChannelId: q.Channel, MessageId: q.ID})
		})
		if err != nil {
			w.problem("picking up a question failed: %v", err)
			return
		}
		w.change(func(*History) {
			q.Complete = true
			for _, response := range answer.GetResponses() {
				q.Answers = append(q.Answers, w.keep(messageOf(q.Intent, response)))
			}
		})
	}
}

// answer answers most questions to an agent. It answers each of them once, however often and by whichever way they reach the
// agent.
func (c *client) answer(ctx context.Context, question *Message) {
	if c.once(8) {
		return
	}
	send := &Send{
		Sender: c.agent, Intent: question.Intent, Channel: question.Channel, To: question.Sender, Kind: Response,
		Answers: question.ID, Content: fmt.Sprintf("%s's answer to %s", c.agent, question.Content),
	}
	c.begin(send)
	message, attempts, err := insist(ctx, c, attemptTime, func(ctx context.Context, as *harness.Caller) (*openintentv1.Message, error) {
		return as.Messages.ReplyMessage(ctx, &openintentv1.ReplyMessageRequest{
			ChannelId: question.Channel, MessageId: question.ID, Payload: payloadOf(send.Content), IdempotencyKey: &send.Content,
		})
	})
	if err != nil && !transient(err) && harness.Reason(err) != "MESSAGE_EXPIRED" {
		c.problem("%s's answer failed: %v", c.agent, err)
	}
	c.came(send, message, attempts, err)
}

// changeMona repeatedly gives mona a role and the membership of an explicit channel, and takes both away again. At the end she
// has both.
func (c *client) changeMona(ctx context.Context) {
	channel := c.channel(c.intents[0], "explicit").id
	member, guard := Right{Agent: mona, Kind: Membership, Of: channel}, Right{Agent: mona, Kind: Role, Of: guards}
	take := func(role string) func(context.Context, *harness.Caller) (proto.Message, error) {
		return func(ctx context.Context, as *harness.Caller) (proto.Message, error) {
			return as.Agents.UpsertAgent(ctx, registration(mona, role))
		}
	}
	for held := false; !held || !c.stopped(); held = !held {
		c.rest(ctx, time.Second, 3*time.Second) // longer than a call may run unnoticed
		if held {
			c.changeRight(ctx, member, func(ctx context.Context, as *harness.Caller) (proto.Message, error) {
				return as.Channels.RemoveChannelMember(ctx, &openintentv1.RemoveChannelMemberRequest{ChannelId: channel, AgentId: mona})
			})
			c.rest(ctx, 100*time.Millisecond, time.Second)
			c.changeRight(ctx, guard, take("none"))
			continue
		}
		c.changeRight(ctx, member, func(ctx context.Context, as *harness.Caller) (proto.Message, error) {
			return as.Channels.AddChannelMembers(ctx, &openintentv1.AddChannelMembersRequest{ChannelId: channel, Members: []string{mona}})
		})
		c.rest(ctx, 100*time.Millisecond, time.Second)
		c.changeRight(ctx, guard, take(guards))
	}
}

// changeRight grants a right that is not held, or withdraws it, and records when it did so. Only one client does this.
func (c *client) changeRight(
	ctx context.Context, right Right, call func(ctx context.Context, as *harness.Caller) (proto.Message, error),
) {
	span := Span{c.now(), forever} // until its end is known
	index := -1
	note := func(h *History) {
		if index < 0 {
			index = slices.IndexFunc(h.Rights, func(held Right) bool {
				return held.Agent == right.Agent && held.Kind == right.Kind && held.Of == right.Of && held.Withdrawn == (Span{})
			})
		}
		if index < 0 {
			index = len(h.Rights)
			h.Rights = append(h.Rights, right)
		}
		if held := &h.Rights[index]; held.Granted.Begun == 0 || held.Granted.Begun == span.Begun {
			held.Granted = span
		} else {
			held.Withdrawn = span
		}
	}
	c.change(note)
	if _, _, err := insist(ctx, c, attemptTime, call); err != nil {
		c.problem("changing the rights of %s failed: %v", right.Agent, err)
		return
	}
	span.Ended = c.now()
	c.change(note)
}
