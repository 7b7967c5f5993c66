package channels

import (
	"context"

	"openintent/agents"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
)

// ErrGuestLeft refuses a guest that is no member of the channel any more.
var ErrGuestLeft = fault.New(fault.Denied, "NOT_A_MEMBER",
	"The guest is no member of the channel any more; ask who manages the channel to add it again, or for another invite.")

// Managed is a channel on which a manager works, under the lock on its intent's head.
type Managed struct {
	Key
	ID   string
	Head *intents.Head

	subject *subject
}

// Manage runs work on a channel in a transaction that holds the lock on its intent's head, for those who manage the channel, and
// refuses other callers. The work must raise the epoch if it changes rules, as AddGuest and RemoveGuests do.
func (s *Service) Manage(ctx context.Context, channelID string, work func(tx *database.Tx, m Managed) error) error {
	return s.manage(ctx, channelID, func(tx *database.Tx, subject *subject) error {
		return work(tx, Managed{Key: subject.rules.Key, ID: subject.rules.ID, Head: subject.head, subject: subject})
	})
}

// CheckOpen refuses a channel that is closed.
func (m Managed) CheckOpen() error {
	if _, closed := m.subject.closed(); closed {
		return ErrChannelClosed
	}
	return nil
}

// RequireManager refuses a caller that does not manage a channel, in a transaction that only reads.
func (s *Service) RequireManager(tx *database.Tx, c caller.Caller, channelID string) error {
	key, err := s.Locate(tx, channelID)
	if err != nil {
		return err
	}
	head, err := intents.ReadHead(tx, key.IntentNo)
	if err != nil {
		return err
	}
	access, err := s.intents.Rules(tx, key.IntentNo, head.Epoch)
	if err != nil {
		return err
	}
	rules, err := s.Rules(tx, key, head.Epoch)
	if err != nil {
		return err
	}
	return rules.RequireManager(c, access, head.Now())
}

// AddGuest makes a guest a member of an open channel. The transaction has locked the intent's head.
func (s *Service) AddGuest(tx *database.Tx, head *intents.Head, channelID, guest string) error {
	key, err := s.Locate(tx, channelID)
	if err != nil {
		return err
	}
	rules, err := s.Rules(tx, key, head.Epoch)
	if err != nil {
		return err
	}
	count, err := LoadCount(tx, key)
	if err != nil {
		return err
	}
	subject := &subject{head: head, rules: rules, count: count}
	if _, closed := subject.closed(); closed {
		return ErrChannelClosed
	}
	return s.addMembers(tx, subject, []string{guest})
}

// RemoveGuests takes guests off a channel's member list. The transaction has locked the intent's head.
func (s *Service) RemoveGuests(tx *database.Tx, head *intents.Head, channelID string, guests []string) error {
	if len(guests) == 0 {
		return nil
	}
	key, err := s.Locate(tx, channelID)
	if err != nil {
		return err
	}
	s.changed(tx, head, key)
	return tx.Pipeline(deleteMembers(tx, key, guests))
}

// requireSight refuses a caller that may not see the channel: a guest that is no member, and any other without read access to
// the intent.
func (s *Service) requireSight(tx *database.Tx, c caller.Caller, head *intents.Head, rules *Rules) error {
	if !caller.IsGuest(c.Agent) {
		return s.requireRead(tx, c, head)
	}
	presences, err := agents.LoadPresences(tx, []string{c.Agent})
	if err == nil && !rules.Lists(c.Agent, presences[c.Agent].DepartedAt) {
		err = ErrGuestLeft
	}
	return err
}
