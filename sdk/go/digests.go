package openintent

import (
	"context"
	"math"

	openintentv1 "openintent/gen/openintent/v1"
)

// Digest is a summary of messages that are not for the agent. Whoever wants to read them lists them by their positions.
type Digest struct {
	// MessageCount is how many messages it sums up.
	MessageCount int
	// Counts say how many came from whom: each sender's highest count first, then each one's second, and so on.
	Counts []DigestCount
	// Subjects are those of the newest messages that have one, newest first.
	Subjects []DigestSubject
	// Spans say where the messages are, for each intent.
	Spans []DigestSpan
	// LeftOutCount is how many of the messages are in no count, because the digest would have become too long.
	LeftOutCount int
	// Attention says that nobody waits for an answer: MustNotRespond, or MayRespond if a message in it mentions the agent.
	Attention *Attention
	// Attempt counts the deliveries of this digest, from 1.
	Attempt int
}

// DigestCount says how many messages of one kind one sender sent on one channel. Kind is empty for messages without one.
type DigestCount struct {
	ChannelID, ChannelName, Sender, Kind string
	Count                                int
}

// DigestSubject is the subject of one message.
type DigestSubject struct{ MessageID, Subject string }

// DigestSpan says where in an intent's log the messages of a digest are.
type DigestSpan struct {
	IntentID                    string
	FirstPosition, LastPosition int64
}

// DigestHandler handles a digest. Its error is logged.
type DigestHandler func(ctx context.Context, digest *Digest) error

// OnDigest binds a handler to the digests that AgentOptions.Digest asks for. All handlers are called, in the order they were bound. Without
// one the agent leaves digests out. Bind handlers before Run.
func (a *Agent) OnDigest(handle DigestHandler) { a.onDigest = append(a.onDigest, handle) }

// handleDigest calls the handlers of digests. It returns false when the agent has left meanwhile.
func (r *receiver) handleDigest(digest *Digest) bool {
	if len(r.agent.onDigest) == 0 {
		r.log.noDigestHandler(digest)
	}
	for _, handle := range r.agent.onDigest {
		_, stack, err := protected(r.life, func(ctx context.Context, _ *Message) (any, error) { return nil, handle(ctx, digest) }, nil)
		if err != nil && r.life.Err() == nil { // an agent that has left cancels its handlers itself
			r.log.digestFailed(err, stack)
		}
	}
	return r.life.Err() == nil
}

// digestOf returns the digest of a delivery, or nil.
func digestOf(delivery *openintentv1.SubscriptionDelivery) *Digest {
	d := delivery.GetDigest()
	if d == nil {
		return nil
	}
	digest := &Digest{
		MessageCount: int(d.GetMessageCount()), LeftOutCount: int(d.GetLeftOutCount()), Attempt: int(delivery.GetAttempt()),
	}
	if delivery.GetMessage() == nil {
		digest.Attention = attentionOf(delivery.GetAttention())
	}
	for _, c := range d.GetCounts() {
		digest.Counts = append(digest.Counts,
			DigestCount{c.GetChannelId(), c.GetChannelName(), c.GetSender(), c.GetKind(), int(c.GetCount())})
	}
	for _, s := range d.GetSubjects() {
		digest.Subjects = append(digest.Subjects, DigestSubject{s.GetMessageId(), s.GetSubject()})
	}
	for _, s := range d.GetSpans() {
		digest.Spans = append(digest.Spans, DigestSpan{s.GetIntentId(), s.GetFirstPosition(), s.GetLastPosition()})
	}
	return digest
}

// letWait asks for a subscription that lets messages wait as the options say.
func (o AgentOptions) letWait(request *openintentv1.CreateSubscriptionRequest) {
	if o.Compose {
		request.Compose = &o.Compose
	}
	if seconds := o.digestSeconds(); seconds != 0 {
		request.DigestSeconds = &seconds
	}
	if o.MaxChars != 0 {
		chars := int32(min(max(o.MaxChars, math.MinInt32), math.MaxInt32))
		request.MaxChars = &chars
	}
}

// waitAs reports whether a subscription lets messages wait as the options say.
func (o AgentOptions) waitAs(subscription *openintentv1.Subscription) bool {
	chars := subscription.GetMaxChars()
	return subscription.GetCompose() == o.Compose && subscription.GetDigestSeconds() == o.digestSeconds() &&
		(o.MaxChars == 0 || int64(chars) == int64(o.MaxChars))
}

// digestSeconds returns the time for digests in seconds. The server refuses what is negative or too much.
func (o AgentOptions) digestSeconds() int32 {
	return int32(min(max(math.Ceil(o.Digest.Seconds()), math.MinInt32), math.MaxInt32))
}
