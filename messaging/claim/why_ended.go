package claim

import (
	"time"

	"openintent/agents"
	"openintent/channels"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/message"
)

// Ending is why a claim ended, as annotations say it.
type Ending string

// The endings.
const (
	EndedByRelease Ending = "released"
	EndedByTime    Ending = "expired"
	EndedByAnswer  Ending = "responded"
	EndedByDeath   Ending = "agent_dead"
	EndedByLeaving Ending = "agent_left"
	EndedByAccess  Ending = "access_lost"
	EndedByRole    Ending = "role_lost"
	EndedByMessage Ending = "message_ended"
	EndedByChannel Ending = "channel_closed"
	EndedByIntent  Ending = "intent_ended"
)

// Situation is what the claims of a message are judged by beside themselves.
type Situation struct {
	// Message is nil if it was evicted; then only time, the holder and the channel decide.
	Message *message.Message
	Channel *channels.Rules
	Access  *intents.Rules
	// Closed tells whether the channel is closed, IntentEnded whether that is because the intent has ended.
	Closed, IntentEnded bool
	Now                 time.Time
}

// EndingOf returns why a claim has ended, or "" if it stands. A release takes a claim away by itself.
func (s Situation) EndingOf(c *Claim) Ending {
	if c.Ended != "" {
		return c.Ended
	}
	if ending := s.endingOfAll(); ending != "" && !c.Answered {
		return ending
	}
	holder := message.NewViewer(s.Channel, c.Presence, c.AgentID == caller.Operator, s.Access, s.Now)
	switch {
	case c.Answered:
		return EndedByAnswer
	case c.Presence.Status == agents.StatusDead:
		return EndedByDeath
	case c.Presence.Status == agents.StatusDeregistered || c.Presence.DepartedAt.After(database.Time(c.Fence)):
		return EndedByLeaving
	case !holder.Participates:
		return EndedByAccess
	case s.isRequest() && !holder.Operator && !holder.Receives(s.Message):
		return EndedByRole
	case !s.Now.Before(c.ExpiresAt):
		return EndedByTime
	}
	return ""
}

// endingOfAll returns why all claims of the message have ended; "" if there is no such reason.
func (s Situation) endingOfAll() Ending {
	switch m := s.Message; {
	case s.Closed && s.IntentEnded:
		return EndedByIntent
	case s.Closed:
		return EndedByChannel
	case m == nil:
		return ""
	case m.Conversation != nil && !m.Conversation.DeletedAt.IsZero(), s.isRequest() && !m.Answerable(s.Now):
		return EndedByMessage
	}
	return ""
}

func (s Situation) isRequest() bool { return s.Message != nil && s.Message.Type == message.TypeRequest }

// Standing returns the claims that have not ended.
func (s Situation) Standing(claims []*Claim) (standing []*Claim) {
	for _, c := range claims {
		if s.EndingOf(c) == "" {
			standing = append(standing, c)
		}
	}
	return standing
}

// Keeps reports whether a claim keeps its place after an ending, until somebody else takes it.
func (s Situation) Keeps(ending Ending) bool {
	if s.Message == nil || !s.Message.NeedsClaim() {
		return false
	}
	switch ending {
	case EndedByTime, EndedByDeath, EndedByLeaving, EndedByAccess, EndedByRole:
		return true
	}
	return false
}

// End notes why the claim ended. What is kept of it is due when its message can be answered no more.
func (c *Claim) End(s Situation, ending Ending) {
	c.Ended, c.DueAt = ending, never
	if !s.Message.ExpiresAt.IsZero() {
		c.DueAt = s.Message.ExpiresAt
	}
}
