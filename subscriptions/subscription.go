package subscriptions

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"openintent/messaging/reading"

	"openintent/caller"
	"openintent/fault"
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

// subscription is a durable cursor of one agent's: its scope and settings, and how far it has come. Zero values mean
// unset.
type subscription struct {
	no         int64
	id         string
	subscriber string
	name       string

	// intentNo is 0 for whatever reaches the subscriber, channelNo 0 for the whole intent.
	intentNo, channelNo int64
	intentID, channelID string
	filter              reading.Filter

	webhookURL  string
	useEndpoint bool
	secret      string

	acknowledgeSeconds, maxAttempts int64
	createdAt, expiresAt, endedAt   time.Time

	// lastNumber is the newest delivery's number.
	lastNumber int64
	// offeredThrough is the highest number that was ever delivered or passed over; what has a higher one never was.
	offeredThrough int64
	// consumer is to whom deliveries go, until consumerUntil unless it renews that.
	consumer      string
	consumerUntil time.Time

	// lastError says why the last post failed.
	lastError string
}

// own tells whether this is an agent's own log.
func (s *subscription) own() bool { return s.name == ownName }

// wide tells whether it follows whatever reaches the subscriber.
func (s *subscription) wide() bool { return s.intentNo == 0 }

// posted tells whether deliveries are posted to a webhook.
func (s *subscription) posted() bool { return s.webhookURL != "" || s.useEndpoint }

// active tells whether it still delivers.
func (s *subscription) active(now time.Time) bool {
	return s.endedAt.IsZero() && (s.expiresAt.IsZero() || now.Before(s.expiresAt))
}

// held tells whether a consumer other than the given one has the deliveries to itself. One that seems to have them for longer
// than a consumer can said so before the clock was set back; if it lives it says so again soon.
func (s *subscription) held(by string, now time.Time) bool {
	return s.consumer != "" && s.consumer != by && now.Before(s.consumerUntil) &&
		s.consumerUntil.Sub(now) <= consumerPatience+clockSkew
}

// reader is through whose eyes it reads. The operator's own subscriptions see as the operator does.
func (s *subscription) reader() caller.Caller { return readerOf(s.subscriber) }

func readerOf(agentID string) caller.Caller {
	return caller.Caller{Agent: agentID, IsOperator: agentID == caller.Operator}
}

// feed is what it reads of one intent.
func (s *subscription) feed(intentNo int64) messaging.Feed {
	return messaging.Feed{
		IntentNo: intentNo, ChannelNo: s.channelNo, Reaching: s.wide(), By: s.reader(), Filter: s.filter,
	}
}

// settling is how long a commit may take at most. What was stored while a subscription was being made counts as stored
// after it by this much, so that nothing falls between.
const settling = time.Minute

// counts tells whether an entry of an intent that came to reach the subscriber later is new enough: of what was sent
// before the subscription was made, nothing is delivered.
func (s *subscription) counts(e reading.Entry) bool {
	if !s.wide() {
		return true
	}
	return !entryTime(e).Before(s.createdAt.Add(-settling))
}

func entryTime(e reading.Entry) time.Time {
	if e.Message != nil {
		return e.Message.CreatedAt
	}
	return e.Event.CreatedAt
}

// checkName refuses what cannot be a subscription's name.
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
