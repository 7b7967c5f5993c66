package openintent

import (
	"fmt"

	openintentv1 "openintent/gen/openintent/v1"
)

// This file says what an agent does with a delivery: it may bring several messages that have waited for their sender to pause, and a digest.
// The jobs of one delivery are done one after the other, messages first and oldest first, and the delivery is acknowledged when all of them
// have ended. If the agent ends before that, the delivery comes again, and its next run handles all of its messages again; the process that
// handled some of them leaves these out.

// beginAll makes the jobs of a delivery. It returns the first, with the others behind it, or nil when there is nothing to do.
func (r *receiver) beginAll(delivery *openintentv1.SubscriptionDelivery) *job {
	came := delivered{subscription: delivery.GetSubscriptionId(), number: delivery.GetNumber()}
	messages, digest := r.messagesOf(delivery), digestOf(delivery)
	count := len(messages)
	if digest != nil {
		count++
	}
	if count > 1 {
		came.left = &count
	}
	var first, last *job
	follow := func(this *job) {
		switch {
		case this == nil:
		case first == nil:
			first, last = this, this
		default:
			last.next, last = this, this
		}
	}
	for _, message := range messages {
		follow(r.begin(message, came))
	}
	if digest != nil {
		follow(r.admit(&job{id: fmt.Sprintf("digest %d of %s", came.number, came.subscription), digest: digest}, came))
	}
	if len(messages) == 0 && digest == nil {
		r.done.add(came)
	}
	return first
}

// messagesOf returns the messages of a delivery that handlers get, oldest first. Several know the ids of all of them.
func (r *receiver) messagesOf(delivery *openintentv1.SubscriptionDelivery) (messages []*Message) {
	add := func(m *openintentv1.Message, intentID, channel string, position int64, attention *openintentv1.Attention) {
		if m == nil || m.GetMessageType() == openintentv1.MessageType_MESSAGE_TYPE_RESPONSE || m.GetSender() == r.agent.options.ID {
			return
		}
		message := r.client.message(m)
		message.IntentID, message.ChannelName = intentID, channel
		message.Position, message.Attempt = position, int(delivery.GetAttempt())
		message.Attention = attentionOf(attention)
		messages = append(messages, message)
	}
	for _, e := range delivery.GetEarlier() {
		add(e.GetMessage(), e.GetIntentId(), e.GetChannelName(), e.GetPosition(), e.GetAttention())
	}
	add(delivery.GetMessage(), delivery.GetIntentId(), delivery.GetChannelName(), delivery.GetPosition(), delivery.GetAttention())
	if len(messages) > 1 {
		ids := make([]string, len(messages))
		for i, message := range messages {
			ids[i], message.SourceIDs = message.ID, ids
		}
	}
	return messages
}

// doInTurn does a job and then those behind it. One that was put aside does not hold up the others. After the end of the agent's life none
// of them begins.
func (r *receiver) doInTurn(first *job) {
	for this := first; this != nil; {
		next := this.next
		this.next = nil
		if r.life.Err() == nil {
			r.do(this)
		} else {
			r.finish(this, false)
		}
		this = next
	}
}

// ended notes that one job of a delivery has ended. The caller holds the mutex.
func (r *receiver) ended(came delivered) {
	if came.left != nil {
		if *came.left--; *came.left > 0 {
			return
		}
	}
	r.done.add(came)
}
