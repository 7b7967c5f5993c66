package leases

import (
	"context"
	"errors"

	"openintent/agents"
	"openintent/internal/caller"
	"openintent/internal/database"
)

// sweptIntents bounds how many intents one run of the sweep looks at.
const sweptIntents = 500

// Sweep ends leases that are over, and notes of the others by what they were judged. It uses one transaction per intent, and
// leaves what is too much for one run to the next. It also removes the places of calls whose server died.
func (s *Service) Sweep(ctx context.Context) error {
	var intentNos []int64
	err := s.db.ReadStatement(ctx, func(tx *database.Tx) (err error) {
		intentNos, err = toJudge(tx, s.db.Now(), s.swept)
		return err
	})
	if err != nil {
		return err
	}
	failures := []error{s.removeDeadWaiters(ctx)}
	for _, intentNo := range intentNos {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		failures = append(failures, s.db.Write(ctx, func(tx *database.Tx) error { return s.judge(tx, intentNo) }))
	}
	return errors.Join(failures...)
}

// judge judges all leases of an intent.
func (s *Service) judge(tx *database.Tx, intentNo int64) error {
	c, err := s.begin(tx, caller.Caller{}, intentNo)
	if err != nil {
		return err
	}
	leases, err := read(tx.Gorm().Where("intent_no = ?", intentNo).Order("scope"))
	if err != nil {
		return err
	}
	holders := make([]string, len(leases))
	for i, l := range leases {
		holders[i] = l.AgentID
	}
	presences, err := agents.LoadPresences(tx, database.Distinct(holders))
	if err != nil {
		return err
	}
	for _, l := range leases {
		around := c.surroundings
		around.presence = presences[l.AgentID]
		if why := l.endedBy(around); why != "" {
			err = c.end(l, caller.System, why)
		} else {
			due := l.DueAt
			if l.judged(around); !l.DueAt.Equal(due) {
				err = save(tx, l)
			}
		}
		if err != nil {
			return err
		}
	}
	if err := c.tell(); err != nil {
		return err
	}
	return tx.Pipeline(database.Statement{
		SQL:  "UPDATE leases SET epoch = ? WHERE intent_no = ? AND epoch <> ?",
		Args: []any{c.head.Epoch, intentNo, c.head.Epoch},
	})
}
