package leases

import (
	"strconv"
	"time"

	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/jsonvalue"
	"openintent/messaging/writing"
)

// end ends a lease, says so in the log and, unless its holder released it, to the holder, and wakes those who wait for its scope.
func (c *change) end(l *Lease, actor string, why ending) error {
	if err := remove(c.tx, l); err != nil {
		return err
	}
	if err := c.log(l, actor, why); err != nil {
		return err
	}
	if why != endedByRelease {
		c.untold = append(c.untold, notice(l, why))
	}
	c.tx.AfterCommit(func() { c.service.messaging.WakeLeases(l.IntentNo) })
	return nil
}

// log says in the intent's log, and in the server's own if the holder did not release it, that a lease ended.
func (c *change) log(l *Lease, actor string, why ending) error {
	if why != endedByRelease {
		c.tx.AfterCommit(func() {
			c.service.logger.Info("a lease ended", "agent", l.AgentID, "scope", l.Scope, "reason", string(why))
		})
	}
	var payload jsonvalue.Builder
	describe(&payload, l)
	payload.String("renewed_at", l.RenewedAt.UTC().Format(wireTime))
	_, err := c.head.Log(intents.EventDraft{
		Type: "lease_released", Actor: actor, Payload: payload.String("reason", string(why)).Object(), TraceID: c.caller.TraceID,
	})
	return err
}

// toldHourly bounds of how many ended leases an agent is told in an hour, so that one which lets many end in a row does not push the
// notices of others out of the channel. It finds the rest in the log.
const toldHourly = 20

// notice is what the server tells the former holder of a lease.
func notice(l *Lease, why ending) writing.Notice {
	var payload jsonvalue.Builder
	describe(payload.String("event", "lease_ended"), l)
	return writing.Notice{To: l.AgentID, Payload: payload.String("reason", string(why)).Object(), HourlyAtMost: toldHourly}
}

// tell sends the former holders what has to be said about the leases that the change ended. When the intent ends nobody is told,
// because its channels end with it, and its log says it.
func (c *change) tell() error {
	notices := c.untold
	c.untold = nil
	return c.service.messaging.Notify(c.tx, c.head, notices...)
}

// describe writes what the log says about a lease.
func describe(payload *jsonvalue.Builder, l *Lease) {
	payload.String("lease_id", l.ID).String("scope", l.Scope).String("agent_id", l.AgentID).
		Raw("fence", strconv.AppendInt(nil, l.Fence, 10))
}

// endForTask ends the lease of the scope that names a task, in the transaction in which the task ends.
func (s *Service) endForTask(tx *database.Tx, head *intents.Head, taskID string) error {
	l, err := ofScope(tx, head.IntentNo, scopeOf(taskID))
	if err != nil || l == nil {
		return err
	}
	c := &change{surroundings: surroundings{head: head}, service: s, tx: tx}
	if err := c.end(l, caller.System, endedByTask); err != nil {
		return err
	}
	return c.tell()
}

// endForIntent ends an intent's leases in the transaction in which the intent ends: all at once, because what the log says of them
// is written with one statement too. Those who wait find that the intent has ended.
func (s *Service) endForIntent(tx *database.Tx, head *intents.Head, _ time.Time) error {
	leases, err := read(tx.Gorm().Where("intent_no = ?", head.IntentNo).Order("scope"))
	if err != nil {
		return err
	}
	c := &change{surroundings: surroundings{head: head}, service: s, tx: tx}
	for _, l := range leases {
		if err := c.log(l, caller.System, endedByIntent); err != nil {
			return err
		}
	}
	err = tx.Pipeline(database.Statement{SQL: "DELETE FROM leases WHERE intent_no = ?", Args: []any{head.IntentNo}})
	if err != nil {
		return err
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
