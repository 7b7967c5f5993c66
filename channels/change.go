package channels

import (
	"context"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
)

// subject is the channel that a call changes, as read under the lock on its intent's head.
type subject struct {
	caller caller.Caller
	head   *intents.Head
	access *intents.Rules
	rules  *Rules
	count  Count
}

// closed reports whether the channel is closed at the time of the decision, and since when.
func (s *subject) closed() (time.Time, bool) { return s.rules.ClosedBy(s.count, s.head, s.head.Now()) }

// change lets a manager of a channel change it under the lock on its intent's head, and returns the channel as it is stored
// after that.
func (s *Service) change(
	ctx context.Context, channelID string, apply func(*database.Tx, *subject) error,
) (*openintentv1.Channel, error) {
	var answer *openintentv1.Channel
	err := s.manage(ctx, channelID, func(tx *database.Tx, subject *subject) error {
		err := apply(tx, subject)
		if err == nil {
			answer, err = s.answer(tx, subject.head, subject.rules.Key)
		}
		return err
	})
	return answer, err
}

// manage runs work on one channel in a transaction that holds the lock. It refuses callers that do not manage the channel.
func (s *Service) manage(ctx context.Context, channelID string, work func(*database.Tx, *subject) error) error {
	c, err := caller.Known(ctx)
	if err != nil {
		return err
	}
	return s.db.Write(ctx, func(tx *database.Tx) error {
		key, err := s.Locate(tx, channelID)
		if err != nil {
			return err
		}
		heads, err := intents.Lock(tx, key.IntentNo)
		if err != nil {
			return err
		}
		head := heads.Get(key.IntentNo)
		access, err := s.intents.Rules(tx, key.IntentNo, head.Epoch)
		if err != nil {
			return err
		}
		rules, err := s.Rules(tx, key, head.Epoch)
		if err != nil {
			return err
		}
		if err := rules.RequireManager(c, access, head.Now()); err != nil {
			return err
		}
		count, err := LoadCount(tx, key)
		if err != nil {
			return err
		}
		return work(tx, &subject{caller: c, head: head, access: access, rules: rules, count: count})
	})
}
