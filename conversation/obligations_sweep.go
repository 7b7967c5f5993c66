package conversation

import (
	"context"
	"errors"
	"time"

	"openintent/channels"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging"
	"openintent/messaging/obligation"
)

// sweptObligations bounds how many obligations one run of the sweep looks at.
const sweptObligations = 500

// SweepObligations makes the steps of obligations that are due: returns, and then the coordinator and the operator. It uses one
// transaction for each, which looks again under the lock, so that no step is made twice, whoever else sweeps.
func (s *Service) SweepObligations(ctx context.Context) error {
	var places []obligation.Place
	err := s.db.ReadStatement(ctx, func(tx *database.Tx) (err error) {
		places, err = obligation.ToLookAt(tx, s.db.Now(), s.swept)
		return err
	})
	if err != nil {
		return err
	}
	var failures []error
	for _, place := range places {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		failures = append(failures, s.lookAtObligation(ctx, place))
	}
	return errors.Join(failures...)
}

// lookAtObligation makes the next step of one obligation if it is due. The obligations of a deleted channel go without a word.
func (s *Service) lookAtObligation(ctx context.Context, place obligation.Place) error {
	err := s.messaging.HoldForServer(ctx, place.Key, place.Position, func(seen *messaging.Sighting) error {
		o, err := obligation.Of(seen.Tx, place.IntentNo, place.Position)
		if err != nil || o == nil || !o.Due(seen.Head().Now()) {
			return err
		}
		return s.step(seen, o)
	})
	if !errors.Is(err, channels.ErrChannelNotFound) {
		return err
	}
	return s.db.Write(ctx, func(tx *database.Tx) error { return tx.Pipeline(obligation.DeletionIn(place.Key)) })
}

// step makes the step that is due. A request that is gone, or whose content was deleted, obliges nobody.
func (s *Service) step(seen *messaging.Sighting, o *obligation.Obligation) error {
	if seen.Message == nil || seen.Message.Deleted() {
		return obligation.Close(seen.Tx, seen.Head(), o, caller.System, "")
	}
	wrote, err := whenAuthorWrote(seen, o)
	if err != nil {
		return err
	}
	switch act := o.Make(seen.Head().Now(), wrote); act {
	case obligation.Return:
		err = s.returned(seen, o)
	case obligation.TellCoordinator, obligation.TellOperator:
		err = s.tell(seen, o, act, told{event: "obligation_overdue"})
	}
	if err != nil {
		return err
	}
	return obligation.Save(seen.Tx, o)
}

// whenAuthorWrote returns when the author of a paused obligation first edited the request or wrote in its thread since the pause; zero
// if it did not, or if the obligation is not paused.
func whenAuthorWrote(seen *messaging.Sighting, o *obligation.Obligation) (time.Time, error) {
	if !o.Paused() {
		return time.Time{}, nil
	}
	wrote, err := obligation.FirstWord(seen.Tx, o, seen.Message.ThreadRoot())
	if edited := seen.Message.Conversation.EditedAt; edited.After(o.PausedAt) && (wrote.IsZero() || edited.Before(wrote)) {
		wrote = edited
	}
	return wrote, err
}
