package conversation

import (
	"context"
	"errors"

	"openintent/channels"
	"openintent/internal/database"
	"openintent/messaging"
	"openintent/messaging/claim"
)

// SweepClaims stores and announces what has ended of the claims, and notes of the others by what they were judged. Nobody waits for it:
// readers judge claims as it does (claim.Situation). It uses one transaction for each message. Only one run is under way at a time. If there are
// more claims than one run looks at, the next run goes on with the others.
func (s *Service) SweepClaims(ctx context.Context) error {
	var suspects []claim.Suspect
	var next claim.Round
	err := s.db.ReadStatement(ctx, func(tx *database.Tx) (err error) {
		suspects, next, err = claim.ToJudge(tx, s.claimsRound)
		return err
	})
	if err != nil {
		return err
	}
	s.claimsRound = next
	var failures []error
	for _, of := range suspects {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		failures = append(failures, s.judgeClaims(ctx, of))
	}
	return errors.Join(failures...)
}

// judgeClaims judges the claims on one message. Those of a channel that is deleted go without a word, because nobody sees it.
func (s *Service) judgeClaims(ctx context.Context, of claim.Suspect) error {
	key := channels.Key{IntentNo: of.IntentNo, ChannelNo: of.ChannelNo}
	err := s.messaging.HoldForServer(ctx, key, of.MessagePosition, func(seen *messaging.Sighting) error {
		return claimsOn(seen).judge(of)
	})
	if !errors.Is(err, channels.ErrChannelNotFound) {
		return err
	}
	return s.db.Write(ctx, func(tx *database.Tx) error { return tx.Pipeline(claim.DeletionIn(key)) })
}

// judge ends claims that have ended, and removes what is kept of claims on a message that can be answered no more.
func (c claims) judge(of claim.Suspect) error {
	found, err := claim.Of(c.Tx, of.IntentNo, of.MessagePosition)
	if err != nil {
		return err
	}
	for _, one := range found[of.MessagePosition] {
		why := c.situation.EndingOf(one)
		switch {
		case why == "":
			if one.Judged(c.situation.Access, c.Head().Epoch, c.situation.Now) {
				err = claim.Save(c.Tx, one)
			}
		case c.Message == nil, one.Ended != "" && !one.DueAt.After(c.situation.Now):
			err = c.Tx.Pipeline(claim.Deletion(one))
		case one.Ended == "":
			err = c.end(one, why)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
