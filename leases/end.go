package leases

import (
	"strconv"
	"time"

	"openintent/caller"
	"openintent/database"
	"openintent/intents"
	"openintent/jsonvalue"
)

// end ends a lease, says so in the log, and wakes those who wait for its scope.
func (c *change) end(l *Lease, actor string, why ending) error {
	if err := remove(c.tx, l); err != nil {
		return err
	}
	var payload jsonvalue.Builder
	describe(&payload, l)
	payload.String("reason", string(why))
	_, err := c.head.Log(intents.EventDraft{
		Type: "lease_released", Actor: actor, Payload: payload.Object(), TraceID: c.caller.TraceID,
	})
	if err != nil {
		return err
	}
	c.tx.AfterCommit(func() {
		if why != endedByRelease {
			c.service.logger.Info("a lease ended", "agent", l.AgentID, "scope", l.Scope, "reason", string(why))
		}
		c.service.messaging.WakeLeases(l.IntentNo)
	})
	return nil
}

// describe writes what the log says about a lease.
func describe(payload *jsonvalue.Builder, l *Lease) {
	payload.String("lease_id", l.ID).String("scope", l.Scope).String("agent_id", l.AgentID).
		Raw("fence", strconv.AppendInt(nil, l.Fence, 10))
}

// endForTask ends the lease of the scope that names a task, in the transaction in which the task ends.
func (s *Service) endForTask(tx *database.Tx, head *intents.Head, taskID string) error {
	l, err := ofScope(tx, head.IntentNo, taskScope+taskID)
	if err != nil || l == nil {
		return err
	}
	c := &change{surroundings: surroundings{head: head}, service: s, tx: tx}
	return c.end(l, caller.System, endedByTask)
}

// endForIntent ends an intent's leases in the transaction in which the intent ends. Those who wait find that it has ended.
func (s *Service) endForIntent(tx *database.Tx, head *intents.Head, _ time.Time) error {
	leases, err := read(tx.Gorm().Where("intent_no = ?", head.IntentNo).Order("scope"))
	if err != nil {
		return err
	}
	c := &change{surroundings: surroundings{head: head}, service: s, tx: tx}
	for _, l := range leases {
		if err := c.end(l, caller.System, endedByIntent); err != nil {
			return err
		}
	}
	tx.AfterCommit(func() { s.messaging.WakeLeases(head.IntentNo) })
	return nil
}

// pause stores what is left of an intent's leases when it is suspended, so that time does not end them meanwhile. A lease whose
// time is over already stays as it is. The others are due, so that somebody judges when they are due next.
func pause(tx *database.Tx, head *intents.Head, _ time.Time) error {
	now := database.Micros(head.Now())
	return tx.Pipeline(database.Statement{
		SQL: "UPDATE leases SET left_over = expires_at - ?, expires_at = NULL, due_at = ?" +
			" WHERE intent_no = ? AND expires_at > ?",
		Args: []any{now, now, head.IntentNo, now},
	})
}

// resume gives an intent's leases the time that was left when it was suspended. They are due, so that somebody judges them anew.
func resume(tx *database.Tx, head *intents.Head, _ time.Time) error {
	now := database.Micros(head.Now())
	return tx.Pipeline(database.Statement{
		SQL: "UPDATE leases SET expires_at = left_over + ?, left_over = NULL, due_at = ?" +
			" WHERE intent_no = ? AND expires_at IS NULL",
		Args: []any{now, now, head.IntentNo},
	})
}
