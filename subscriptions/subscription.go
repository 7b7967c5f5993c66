package subscriptions

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"openintent/messaging/reading"

	"openintent/internal/caller"
	"openintent/internal/fault"
	"openintent/messaging"
)

const (
	// idPrefix begins every subscription's id; a ULID follows.
	idPrefix = "sub_"
	// ownName is the name of each agent's own log.
	ownName = "default"
	// maxNameLength bounds names, in characters.
	maxNameLength = 128

	defaultAcknowledgeSeconds = 30
	defaultMaxAttempts        = 10
)

// subscription is a durable cursor of one agent: its scope, its settings, and its progress. Zero values mean unset.
type subscription struct {
	no         int64
	id         string
	subscriber string
	name       string

	// intentNo is 0 when the subscription follows everything that reaches the subscriber. channelNo is 0 when it follows the
	// whole intent.
	intentNo, channelNo int64
	intentID, channelID string
	filter              reading.Filter
	// include are the words for what is delivered beside messages and events. The filter knows of annotations. In an agent's own
	// log the word says that annotations are numbered; each stream decides for itself whether it shows them.
	include []string
	// scope is that of the key with which the subscription was made; nil is everywhere. Nothing outside of it is delivered.
	scope *caller.Scope
	// madeByKey is the KeyID of the caller that made the subscription or took it over. A key's subscriptions are counted by it, and one with
	// a webhook lasts only as long as the key. It is empty if a program of release 0.1 made it.
	madeByKey string

	// compose lets messages wait until their sender pauses. digestSeconds is for how long ambient messages are gathered into a digest of
	// at most maxChars characters; both are 0 without digests (subscriptions/waiting).
	compose                 bool
	digestSeconds, maxChars int64

	webhookURL  string
	useEndpoint bool
	// madeBySubject is the Subject of that caller; empty without a webhook.
	madeBySubject string
	secret        string

	acknowledgeSeconds, maxAttempts int64
	createdAt, expiresAt, endedAt   time.Time

	// lastNumber is the newest stored delivery's number.
	lastNumber int64
	// offeredThrough is the highest number that was ever delivered or skipped, as far as that is stored.
	offeredThrough int64
	// reservedThrough is the highest number that the active stream may give before it stores the delivery (block.go). abandoned
	// are numbers that streams had reserved when they were replaced, by number.
	reservedThrough int64
	abandoned       []span
	// consumer has the lease on the deliveries. The lease ends at consumerUntil unless it is renewed.
	consumer      string
	consumerUntil time.Time

	// postAt is when there is something to post next; it is zero if nothing waits. lastError says why the last post failed.
	postAt    time.Time
	lastError string
}

// own reports whether this is an agent's own log.
func (s *subscription) own() bool { return s.name == ownName }

// wide reports whether the subscription follows everything that reaches the subscriber, instead of one intent.
func (s *subscription) wide() bool { return s.intentNo == 0 }

// posted reports whether the deliveries are posted to a webhook.
func (s *subscription) posted() bool { return s.webhookURL != "" || s.useEndpoint }

// streamed reports whether agents receive the deliveries with streams and fetches.
func (s *subscription) streamed() bool { return !s.own() && !s.posted() }

// acknowledgeTime is how long a client may take to acknowledge a delivery before it is due again.
func (s *subscription) acknowledgeTime() time.Duration {
	return time.Duration(s.acknowledgeSeconds) * time.Second
}

// active reports whether the subscription still delivers.
func (s *subscription) active(now time.Time) bool {
	return s.endedAt.IsZero() && (s.expiresAt.IsZero() || now.Before(s.expiresAt))
}

// leasedByOther reports whether a consumer other than the given one has the lease. A lease that seems to last longer than any
// lease can dates from before the clock was set back. It does not count; if its consumer still runs, it renews the lease soon.
func (s *subscription) leasedByOther(than string, now time.Time) bool {
	return s.consumer != "" && s.consumer != than && now.Before(s.consumerUntil) &&
		s.consumerUntil.Sub(now) <= leaseTime+clockSkew
}

// reader returns the caller on whose behalf the subscription reads. The operator's own subscriptions see what the operator
// sees.
func (s *subscription) reader() caller.Caller {
	reader := readerOf(s.subscriber)
	reader.Scope = s.scope
	return reader
}

func readerOf(agentID string) caller.Caller {
	return caller.Caller{Agent: agentID, IsOperator: agentID == caller.Operator}
}

// feed returns the feed that the subscription reads from one intent.
func (s *subscription) feed(intentNo int64) messaging.Feed {
	return messaging.Feed{
		IntentNo: intentNo, ChannelNo: s.channelNo, Reaching: s.wide(), By: s.reader(), Filter: s.filter,
	}
}

// settling is the longest time that a commit may take. An entry that was stored shortly before a subscription was created
// counts as stored after it, so that nothing is left out.
const settling = time.Minute

// isNewEnough reports whether an entry was sent after the subscription was created. When an intent begins to reach the
// subscriber later, a wide subscription delivers no earlier entries of that intent.
func (s *subscription) isNewEnough(e reading.Entry) bool {
	if !s.wide() {
		return true
	}
	return !entryTime(e).Before(s.createdAt.Add(-settling))
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

// checkName refuses a text that cannot name a subscription.
func checkName(name string) error {
	switch {
	case name == "" || utf8.RuneCountInString(name) > maxNameLength:
		return fault.BadField("name", "a subscription's name has 1 to %d characters.", maxNameLength)
	case !utf8.ValidString(name) || strings.Contains(name, "/") || strings.ContainsFunc(name, unicode.IsControl):
		return fault.BadField("name", `a subscription's name is UTF-8 text without "/" and control characters.`)
	case name == ownName:
		return fault.BadField("name", "`default` is the agent's own log, which Subscribe streams; choose another name.")
	}
	return nil
}
