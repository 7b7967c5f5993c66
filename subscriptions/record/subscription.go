package record

import (
	"time"

	"openintent/messaging/reading"
	"openintent/subscriptions/waiting"

	"openintent/internal/caller"
	"openintent/messaging"
)

const (
	// IDPrefix begins every subscription's id; a ULID follows.
	IDPrefix = "sub_"
	// OwnName is the name of each agent's own log.
	OwnName = "default"
	// MaxUnfinished bounds the unfinished deliveries of a subscription. When it is full, gathering waits for acknowledgements, and the
	// intents' logs keep the rest.
	MaxUnfinished = 1000
	// Unwritten is how many positions a gatherer or a stream may be ahead of the stored position. So a busy intent with nothing for the
	// subscriber does not cost a write for each message.
	Unwritten = 256
	// MaxBehind bounds for how many intents a gatherer remembers that they are not gathered to their ends. It comes back to the others in
	// a pass.
	MaxBehind = 256
)

// Subscription is a durable cursor of one agent: its scope, its settings, and its progress. Zero values mean unset.
type Subscription struct {
	No         int64
	ID         string
	Subscriber string
	Name       string

	// IntentNo is 0 when the subscription follows everything that reaches the subscriber. ChannelNo is 0 when it follows the
	// whole intent.
	IntentNo, ChannelNo int64
	IntentID, ChannelID string
	Filter              reading.Filter
	// Include are the words for what is delivered beside messages and events. The filter knows of annotations. In an agent's own
	// log the word says that annotations are numbered; each stream decides for itself whether it shows them.
	Include []string
	// Scope is that of the key with which the subscription was made; nil is everywhere. Nothing outside of it is delivered.
	Scope *caller.Scope
	// MadeByKey is the KeyID of the caller that made the subscription or took it over. A key's subscriptions are counted by it, and one with
	// a webhook lasts only as long as the key. It is empty if a program of release 0.1 made it.
	MadeByKey string

	// Compose lets messages wait until their sender pauses. DigestSeconds is for how long ambient messages are gathered into a digest of
	// at most MaxChars characters; both are 0 without digests (subscriptions/waiting).
	Compose                 bool
	DigestSeconds, MaxChars int64

	WebhookURL  string
	UseEndpoint bool
	// MadeBySubject is the Subject of that caller; empty without a webhook.
	MadeBySubject string
	Secret        string

	AcknowledgeSeconds, MaxAttempts int64
	CreatedAt, ExpiresAt, endedAt   time.Time

	// LastNumber is the newest stored delivery's number.
	LastNumber int64
	// OfferedThrough is the highest number that was ever delivered or skipped, as far as that is stored.
	OfferedThrough int64
	// ReservedThrough is the highest number that the active stream may give before it stores the delivery (block.go). abandoned
	// are numbers that streams had reserved when they were replaced, by number.
	ReservedThrough int64
	abandoned       []span
	// Consumer has the lease on the deliveries. The lease ends at ConsumerUntil unless it is renewed.
	Consumer      string
	ConsumerUntil time.Time

	// PostAt is when there is something to post next; it is zero if nothing waits. LastError says why the last post failed.
	PostAt    time.Time
	LastError string
}

// Own reports whether this is an agent's own log.
func (s *Subscription) Own() bool { return s.Name == OwnName }

// Wide reports whether the subscription follows everything that reaches the subscriber, instead of one intent.
func (s *Subscription) Wide() bool { return s.IntentNo == 0 }

// Posted reports whether the deliveries are posted to a webhook.
func (s *Subscription) Posted() bool { return s.WebhookURL != "" || s.UseEndpoint }

// streamed reports whether agents receive the deliveries with streams and fetches.
func (s *Subscription) streamed() bool { return !s.Own() && !s.Posted() }

// AcknowledgeTime is how long a client may take to acknowledge a delivery before it is due again.
func (s *Subscription) AcknowledgeTime() time.Duration {
	return time.Duration(s.AcknowledgeSeconds) * time.Second
}

// Active reports whether the subscription still delivers.
func (s *Subscription) Active(now time.Time) bool {
	return s.endedAt.IsZero() && (s.ExpiresAt.IsZero() || now.Before(s.ExpiresAt))
}

// Reader returns the caller on whose behalf the subscription reads. The operator's own subscriptions see what the operator
// sees.
func (s *Subscription) Reader() caller.Caller {
	reader := readerOf(s.Subscriber)
	reader.Scope = s.Scope
	return reader
}

func readerOf(agentID string) caller.Caller {
	return caller.Caller{Agent: agentID, IsOperator: agentID == caller.Operator}
}

// Feed returns the feed that the subscription reads from one intent.
func (s *Subscription) Feed(intentNo int64) messaging.Feed {
	return messaging.Feed{
		IntentNo: intentNo, ChannelNo: s.ChannelNo, Reaching: s.Wide(), By: s.Reader(), Filter: s.Filter,
	}
}

// settling is the longest time that a commit may take. An entry that was stored shortly before a subscription was created
// counts as stored after it, so that nothing is left out.
const settling = time.Minute

// IsNewEnough reports whether an entry was sent after the subscription was created. When an intent begins to reach the
// subscriber later, a wide subscription delivers no earlier entries of that intent.
func (s *Subscription) IsNewEnough(e reading.Entry) bool {
	if !s.Wide() {
		return true
	}
	return !entryTime(e).Before(s.CreatedAt.Add(-settling))
}

func entryTime(e reading.Entry) time.Time {
	switch {
	case e.Message != nil:
		return e.Message.CreatedAt
	case e.Annotation != nil:
		return e.Annotation.CreatedAt
	}
	return e.Event.CreatedAt
}

// Including sets what the subscription delivers beside messages and events.
func (s *Subscription) Including(words []string) {
	s.Include = words
	s.Filter.Include(words)
}

// Within returns the subscription as a caller with a scope may see it. The subscription's own scope lies in the caller's, except
// for an agent's own log, which all callers share.
func (s *Subscription) Within(scope *caller.Scope) *Subscription {
	if scope == nil {
		return s
	}
	narrowed := *s
	narrowed.Scope = scope
	return &narrowed
}

// Maker returns the key, or what stands for one, with which a subscription lasts; nothing if it does not post.
func (s *Subscription) Maker() string {
	if !s.Posted() {
		return ""
	}
	return s.MadeByKey
}

// Receiving returns who gets a subscription's deliveries.
func (s *Subscription) Receiving() reading.Consumer {
	return reading.Consumer{Agent: s.Subscriber, Subscription: s.ID}
}

// Windowed reports whether the subscription lets anything wait.
func (s *Subscription) Windowed() bool { return s.Compose || s.DigestSeconds > 0 }

// WindowRules returns the rules by which messages wait.
func (s *Subscription) WindowRules() waiting.Rules {
	rules := waiting.Rules{
		Longest: waiting.Longest, Digest: time.Duration(s.DigestSeconds) * time.Second, MaxChars: int(s.MaxChars),
	}
	if s.Compose {
		rules.Silence = waiting.Silence
	}
	return rules
}
