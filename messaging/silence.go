package messaging

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"openintent/agents"
	"openintent/channels"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/messaging/message"
	"openintent/messaging/reading"
	"openintent/messaging/writing"
	"openintent/reach"
)

// The causes of a question's silence, as the metadata of MESSAGE_TIMEOUT names them.
const (
	causeNeverSeen   = "NEVER_SEEN"
	causeNoHolder    = "NOBODY_HOLDS_ROLE"
	causeNoAccess    = "NO_ACCESS"
	causeAway        = "AWAY"
	causeNotReceived = "NOT_RECEIVED"
	causeNotAnswered = "NOT_ANSWERED"
	causeDeclined    = "DECLINED"
	// These are causes only of the end of a wait; an ask ends with an error of its own.
	causeWithdrawn = "WITHDRAWN"
	causeClosed    = "CHANNEL_CLOSED"
)

// silence is what the server knows of why nobody answered a question in time. The asker may know all of it: agents' records
// are for everybody to see, except for keys of single channels, and a sender may ask what became of its message
// (deliveries.go).
type silence struct {
	target string
	*agents.Whereabouts
	// strangers is how many of those that are present may not take part in the channel, and leaving how many others drain.
	strangers, leaving int
	// channelOnly is true for an asker that may not see all agents' records.
	channelOnly bool
	// received is how many recipients were handed the request, and declines are those of a role that have declined it (declined.go).
	received int
	declines declines
	// reach is how an addressed agent can be reached, if the asker may know that and it is known.
	reach *reach.Reach
	// meant is an address that the asker may have meant, if nobody has this one.
	meant string
}

// explain returns the error of a question whose time ran out. The error names the addressee, the channel and the seconds, and
// says why nobody may have answered. If explain cannot find out why, it says the rest.
func (s *Service) explain(ctx context.Context, d *writing.Draft, request *message.Message) error {
	within := strconv.FormatFloat(request.ExpiresAt.Sub(request.CreatedAt).Seconds(), 'f', -1, 64)
	timeout := *message.ErrTimeout.With("message_id", request.ID).With("to", request.Target).
		With("channel_id", request.ChannelID).With("timeout_seconds", within)
	seen, channel, err := s.lookAtSilence(ctx, d.By, d.Channel, request.Target, request.Position)
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, database.ErrCrowded) {
			s.logger.Warn("the server could not find out why a question was not answered", "error", err)
		}
		return &timeout
	}
	cause, why := seen.cause()
	timeout.Message = fmt.Sprintf("%s did not answer on channel %q within %s s: %s. The request has expired.",
		seen.target, channel, inShort(request.ExpiresAt.Sub(request.CreatedAt)), why)
	return seen.withReach(timeout.With("channel", channel).With("cause", cause))
}

// withReach adds to a refusal how the addressee can be reached.
func (s silence) withReach(refusal *fault.Fault) *fault.Fault {
	if s.reach == nil {
		return refusal
	}
	refusal = refusal.With("reach", s.reach.Level().String())
	if !s.reach.Heard.IsZero() {
		refusal = refusal.With("last_heard_at", s.reach.Heard.Format(time.RFC3339))
	}
	return refusal
}

// inShort returns seconds for people. A client that sends what is left of its time asks for 29.9993 seconds.
func inShort(wait time.Duration) string { return strconv.FormatFloat(wait.Seconds(), 'g', 3, 64) }

// explainWait says why a wait for responses has ended with fewer than were wanted: a word for programs and a sentence.
func (s *Service) explainWait(ctx context.Context, q question, found answers) (cause, explanation string, err error) {
	request := found.request
	switch {
	case request.Deleted():
		return causeWithdrawn, "The request was withdrawn: its content is deleted.", nil
	case found.closed:
		return causeClosed, "The channel has closed, and takes no answer any more.", nil
	case found.refusal != nil:
		return causeDeclined, fault.From(found.refusal.refuse(request)).Message, nil
	case message.ToEveryone(request.Target):
		return "", "", nil
	}
	seen, channel, err := s.lookAtSilence(ctx, q.by, q.key, request.Target, request.Position)
	if err != nil {
		return "", "", err
	}
	cause, why := seen.cause()
	return cause, fmt.Sprintf("%s has not answered on channel %q: %s.", seen.target, channel, why), nil
}

// refuseUnheard refuses a message to an agent, or a role, that nobody is there to receive. A repeat of a message that was stored passes.
func (s *Service) refuseUnheard(ctx context.Context, d *writing.Draft) error {
	if message.ToEveryone(d.Target) {
		return nil
	}
	seen, channel, err := s.lookAtSilence(ctx, d.By, d.Channel, d.Target, 0)
	if err != nil || len(seen.Present) > 0 || seen.reach != nil && seen.reach.Level() == reach.Live {
		return err
	}
	if stored, err := s.storedBefore(ctx, d); stored || err != nil {
		return err
	}
	cause, why := seen.cause()
	return fault.New(fault.Conflict, "NOBODY_THERE", "%s is not there on channel %q: %s. Nothing was sent; leave fail_fast out to send it anyway.",
		seen.target, channel, why).With("to", seen.target).With("channel", channel).With("cause", cause)
}

// storedBefore reports whether a draft repeats a message that was stored under its idempotency key.
func (s *Service) storedBefore(ctx context.Context, d *writing.Draft) (stored bool, err error) {
	if d.Key == "" {
		return false, nil
	}
	err = s.db.ReadFor(ctx, d.By.Reader(), func(tx *database.Tx) error {
		stored = false
		return tx.Pipeline(database.Statement{
			SQL:  "SELECT 1 FROM idempotency_keys WHERE intent_no = ? AND sender = ? AND scope = ? AND key = ?",
			Args: []any{d.IntentNo, d.Sender, d.Scope(), d.Key},
			Scan: scanFound(&stored),
		})
	})
	return stored, err
}

// lookAtSilence reads what became of the message at a position, 0 for one that is not stored, and where its recipients are. It first
// writes the offers that wait here, so that a message that was handed over a moment ago counts as received.
func (s *Service) lookAtSilence(
	ctx context.Context, by caller.Caller, of channels.Key, target string, position int64,
) (silence, string, error) {
	seen, channel := silence{target: target}, ""
	if position > 0 {
		if err := s.offers.flush(ctx); err != nil {
			return seen, channel, err
		}
	}
	role, read := message.RoleOf(target), s.db.ReadFor
	if role != "" { // very many agents may hold it
		read = s.db.ReadHeavy
	}
	err := read(ctx, by.Reader(), func(tx *database.Tx) error {
		statements, whereabouts := agents.WhereaboutsOf(target)
		if role != "" {
			statements, whereabouts = agents.WhereaboutsOfRole(role)
		}
		seen = silence{target: target, Whereabouts: whereabouts, channelOnly: !by.Scope.ShowsAllAgents()}
		statements = append(statements, database.Statement{
			SQL:  "SELECT count(*) FROM offers WHERE intent_no = ? AND position = ?",
			Args: []any{of.IntentNo, position},
			Scan: func(row database.Row) error { return row.Scan(&seen.received) },
		}, prepareDeclines(of.IntentNo, position, by.Agent, &seen.declines))
		l, err := s.reader.Snapshot(tx, of, nil, statements...)
		if err != nil {
			return err
		}
		if position == 0 { // who has stored it was admitted
			if _, err := l.AdmitViewer(by, by.Agent); err != nil {
				return err
			}
		}
		channel = l.Channel.Name
		seen.leaveOut(l)
		if message.IsAgent(target) {
			reached, err := s.shownReach(tx, by, l.Channel, []string{target})
			if err != nil {
				return err
			}
			seen.reach = reached[target]
		}
		if seen.channelOnly || len(seen.Present)+seen.Away+seen.strangers+seen.leaving > 0 {
			return nil
		}
		seen.meant, err = meant(tx, target)
		return err
	})
	return seen, channel, err
}

// leaveOut leaves out, and counts, the agents that may not take part in the channel, and those that drain, because these take nothing new.
func (s *silence) leaveOut(l reading.Snapshot) {
	for agent, presence := range s.Present {
		switch {
		case !message.NewViewer(l.Channel, presence, false, l.Access, l.Now).Participates:
			s.strangers++
		case presence.Status == agents.StatusDraining:
			s.leaving++
		default:
			continue
		}
		delete(s.Present, agent)
	}
}

// cause returns why nobody answered, as a word for programs and as a part of a sentence.
func (s silence) cause() (cause, why string) {
	role := message.RoleOf(s.target) != ""
	switch {
	case role && s.declines.count > 0:
		return s.declinedCause()
	case role && s.received > 0:
		return causeNotAnswered, fmt.Sprintf("%s received the request and did not answer", agentsIn(s.received))
	case s.received > 0:
		return causeNotAnswered, "it received the request and did not answer" + s.listening()
	case role && len(s.Present) > 0:
		return causeNotReceived, fmt.Sprintf("%s the role, and none has received the request", holdersIn(len(s.Present)))
	case len(s.Present) > 0:
		return causeNotReceived, "it is registered, and has not received the request" + s.listening()
	case role && s.leaving > 0:
		return causeAway, "everybody who holds the role is leaving, and takes nothing new"
	case s.leaving > 0:
		return causeAway, "it is leaving, and takes nothing new"
	case role && (s.strangers > 0 || s.channelOnly):
		return causeNoHolder, "nobody who may take part in the channel holds the role"
	case s.channelOnly:
		return causeNoAccess, "no agent of that name takes part in the channel now"
	case s.strangers > 0:
		return causeNoAccess, "it may not take part in the channel any more"
	case role && s.Away > 0:
		return causeAway, "everybody who held the role has been away since " + s.LastSeen.Format(time.RFC3339)
	case s.Away > 0:
		return causeAway, "it has been away since " + s.LastSeen.Format(time.RFC3339)
	case role:
		return causeNoHolder, "nobody holds the role" + s.didYouMean()
	}
	return causeNeverSeen, "no agent of that name was ever registered" + s.listening() + s.didYouMean()
}

// listening says whether anything of the addressee's would hear a message now.
func (s silence) listening() string {
	if s.reach == nil {
		return ""
	}
	since := ""
	if !s.reach.Heard.IsZero() {
		since = "; it was last heard of at " + s.reach.Heard.Format(time.RFC3339)
	}
	switch s.reach.Level() {
	case reach.Live:
		return ", although something of it listens now"
	case reach.Wakeable:
		return "; nothing of it listens now, but it can be woken" + since
	case reach.None:
		return "; nothing of it listens now" + since
	}
	return ""
}

func (s silence) didYouMean() string {
	if s.meant == "" {
		return ""
	}
	return " (did you mean " + s.meant + "?)"
}

func agentsIn(count int) string {
	if count == 1 {
		return "1 agent"
	}
	return strconv.Itoa(count) + " agents"
}

func holdersIn(count int) string {
	if count == 1 {
		return "1 agent holds"
	}
	return strconv.Itoa(count) + " agents hold"
}
