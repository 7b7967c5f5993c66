package intents

import (
	"context"
	"errors"

	"openintent/caller"
	"openintent/database"
)

// Bounds of one turn of the sweeper.
const (
	sweptIntents = 500
	sweptEntries = 500
)

// Sweep logs once, for each access entry that has expired, that it has. Nothing waits for it: the rules decide by time.
// It works in one transaction for each intent and leaves what is too much for one turn to the next. Several replicas
// may sweep at once.
func (s *Service) Sweep(ctx context.Context) error {
	var lapsed []int64
	err := s.db.Read(ctx, func(tx *database.Tx) (err error) {
		lapsed, err = findIntentsWithLapsedEntries(tx, tx.Now(), sweptIntents)
		return err
	})
	if err != nil {
		return err
	}
	var failures []error
	for _, no := range lapsed {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		failures = append(failures, s.db.Write(ctx, func(tx *database.Tx) error { return logExpiries(tx, no) }))
	}
	return errors.Join(failures...)
}

func logExpiries(tx *database.Tx, intentNo int64) error {
	heads, err := Lock(tx, intentNo)
	if err != nil {
		return err
	}
	head := heads[0]
	lapsed, err := listLapsedEntries(tx, intentNo, head.Now(), sweptEntries)
	if err != nil || len(lapsed) == 0 {
		return err
	}
	ids := make([]string, len(lapsed))
	for i, entry := range lapsed {
		ids[i] = entry.ID
		if err := log(head, caller.Caller{}, caller.System, "access_expired", describeEntry(entry)); err != nil {
			return err
		}
	}
	return markExpiryLogged(tx, intentNo, ids)
}
