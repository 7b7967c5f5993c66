package replay

import (
	"context"
	"errors"
	"sort"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging/message"
)

// The operator reads everything, and the server says what of it the agent received. It is not asked about each message. In one channel an
// agent receives from one place on all that is for everybody or for itself, or nothing, so a few questions find that place. What is for its
// role it receives since it took the role; before, only what was an open request then and what it has read or answered. So each of these
// is a question, until the answer to one shows that the agent held the role.

// askedAtOnce is how many questions wait for their answers at a time.
const askedAtOnce = 16

// received tells what of a log the agent received.
type received struct {
	attention   openintentv1.AttentionServiceClient
	agent, role string
	// begun are the channels from which the agent received what was for everybody or for itself, and so receives whatever follows.
	begun map[string]bool
	// held says that the agent has held its role since before the next delivery.
	held bool
}

// question finds out something from the server.
type question func(ctx context.Context) error

// of returns which of some deliveries, which follow each other in the log, brought messages for the agent.
func (r *received) of(ctx context.Context, read []*openintentv1.SubscribeResponse) ([]bool, error) {
	of := make([]bool, len(read))
	undecided := make(map[string][]int) // places in read, by channel
	var ofRole []int                    // undecided places, too
	var questions []question
	for i, delivery := range read {
		m := delivery.GetMessage()
		to, channel := m.GetTo(), m.GetChannelId()
		switch {
		case m == nil || m.GetSender() == r.agent:
		case message.ToEveryone(to) || to == r.agent:
			if of[i] = r.begun[channel]; !of[i] {
				undecided[channel] = append(undecided[channel], i)
			}
		case r.role != "" && message.RoleOf(to) == r.role:
			if of[i] = r.held && r.begun[channel]; !of[i] {
				ofRole = append(ofRole, i)
				questions = append(questions, func(ctx context.Context) error { return r.each(ctx, read, []int{i}, of) })
			}
		}
	}
	for _, places := range undecided {
		questions = append(questions, func(ctx context.Context) error { return r.search(ctx, read, places, of) })
	}
	if err := atOnce(ctx, questions); err != nil {
		return nil, err
	}
	for channel, places := range undecided {
		r.begun[channel] = of[places[len(places)-1]]
	}
	for _, i := range ofRole {
		if m := read[i].GetMessage(); of[i] {
			r.begun[m.GetChannelId()], r.held = true, r.held || showsRole(m)
		}
	}
	return of, nil
}

// showsRole reports whether a message to a role reaches only those who have held the role since before it: no request, and unread.
func showsRole(m *openintentv1.Message) bool {
	return m.GetMessageType() != openintentv1.MessageType_MESSAGE_TYPE_REQUEST && m.GetReadAt() == nil
}

// search finds from which place on the agent received what stands at places of one channel.
func (r *received) search(ctx context.Context, read []*openintentv1.SubscribeResponse, places []int, of []bool) error {
	var failed error
	first := sort.Search(len(places), func(k int) bool {
		got, err := r.ask(ctx, read[places[k]].GetMessage())
		failed = errors.Join(failed, err)
		return got
	})
	if status.Code(failed) == codes.NotFound {
		return r.each(ctx, read, places, of)
	}
	for _, i := range places[first:] {
		of[i] = true
	}
	return failed
}

// each asks about the message at each of some places. One that was removed meanwhile counts as not received.
func (r *received) each(ctx context.Context, read []*openintentv1.SubscribeResponse, places []int, of []bool) (err error) {
	for _, i := range places {
		if of[i], err = r.ask(ctx, read[i].GetMessage()); err != nil && status.Code(err) != codes.NotFound {
			return err
		}
	}
	return nil
}

// ask asks the server whether a message was for the agent.
func (r *received) ask(ctx context.Context, m *openintentv1.Message) (bool, error) {
	explained, err := r.attention.GetAttention(ctx, &openintentv1.GetAttentionRequest{
		ChannelId: m.GetChannelId(), MessageId: m.GetId(), AgentId: &r.agent,
	})
	if err != nil {
		return false, err
	}
	rules := explained.GetRules()
	return explained.Policy != nil || len(rules) > 0 && rules[len(rules)-1].GetRule() != "no_recipient", nil
}

// atOnce asks questions, a few at a time, until one fails.
func atOnce(ctx context.Context, questions []question) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	turns := make(chan struct{}, askedAtOnce)
	var asking sync.WaitGroup
	for _, ask := range questions {
		turns <- struct{}{}
		asking.Go(func() {
			if err := ask(ctx); err != nil {
				fail(err) // the first failure counts
			}
			<-turns
		})
	}
	asking.Wait()
	return context.Cause(ctx)
}
