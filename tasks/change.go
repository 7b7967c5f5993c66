package tasks

import (
	"strconv"
	"time"

	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/jsonvalue"
)

// change is one change of one task under the lock of its intent's head.
type change struct {
	service *Service
	tx      *database.Tx
	head    *intents.Head
	rules   *intents.Rules
	caller  caller.Caller
	// actor is the agent that the change is made for; the log names it.
	actor string
	task  *Task
}

// begin locks an intent that the actor may write to.
func (s *Service) begin(tx *database.Tx, c caller.Caller, actor string, intentNo int64) (*change, error) {
	heads, err := intents.Lock(tx, intentNo)
	if err != nil {
		return nil, err
	}
	head := heads.Get(intentNo)
	rules, err := s.intents.Rules(tx, intentNo, head.Epoch)
	if err != nil {
		return nil, err
	}
	if err := rules.Require(c, actor, intents.PermissionWrite, head.Now()); err != nil {
		return nil, err
	}
	return &change{service: s, tx: tx, head: head, rules: rules, caller: c, actor: actor}, nil
}

// mayChange returns nil if the actor may change the task. As long as no agent has the task, anybody with write access may.
// After that only the agent that has it, administrators and the operator may.
func (c *change) mayChange() error {
	operator := c.caller.IsOperator && c.actor == c.caller.Agent
	switch {
	case c.task.AssignedAgent == "" || c.task.AssignedAgent == c.actor:
		return nil
	case c.rules.Level(c.actor, operator, c.head.Now()) >= intents.PermissionAdmin:
		return nil
	}
	return errNotAssigned
}

// mayDispose returns nil if the actor may cancel or skip the task, or give it to another agent. The agent that has the task
// may, and so may every agent that was given write access. An agent that may write only because the intent is open can take
// the task on, but not dispose of it.
func (c *change) mayDispose() error {
	if c.task.AssignedAgent == c.actor {
		return nil
	}
	return c.rules.RequireGiven(c.caller, c.actor, intents.PermissionWrite, c.head.Now())
}

// logAt appends an event about the task; previous is empty for an event that is not a transition.
func (c *change) logAt(position int64, at time.Time, event string, previous Status) error {
	_, err := c.head.LogAt(position, at, intents.EventDraft{
		Type:    event,
		Actor:   c.actor,
		Payload: payload(c.task, previous),
		TraceID: c.caller.TraceID,
	})
	return err
}

// payload returns what the log says about a task.
func payload(t *Task, previous Status) jsonvalue.Object {
	var b jsonvalue.Builder
	b.String("task_id", t.ID).String("name", t.Name)
	if previous != "" {
		b.String("previous_status", string(previous))
	}
	b.String("status", string(t.Status))
	b.Raw("version", number(t.Version)).Raw("attempt", number(t.Attempt)).Raw("max_attempts", number(t.MaxAttempts))
	if t.AssignedAgent != "" {
		b.String("assigned_agent", t.AssignedAgent)
	}
	if t.BlockedReason != "" {
		b.String("blocked_reason", t.BlockedReason)
	}
	if t.Status == StatusFailed && t.Error != nil {
		b.Raw("error", t.Error)
	}
	return b.Object()
}

func number(n int64) []byte { return strconv.AppendInt(nil, n, 10) }

// store saves the changed task. If the task has ended, store also runs the hooks and releases the tasks that waited for it.
func (c *change) store() error {
	if err := save(c.tx, c.task); err != nil {
		return err
	}
	if !c.task.Ended() {
		return nil
	}
	for _, hook := range c.service.onEnded {
		if err := hook(c.tx, c.head, c.task.ID); err != nil {
			return err
		}
	}
	id, status := c.task.ID, c.task.Status
	c.tx.AfterCommit(func() { c.service.logger.Debug("a task ended", "task", id, "status", string(status)) })
	if !status.satisfies() {
		return nil
	}
	return c.release()
}

// release makes the tasks ready that waited only for the changed one.
func (c *change) release() error {
	ids, err := released(c.tx, c.task.IntentNo, c.task.ID)
	if err != nil {
		return err
	}
	waiting, err := some(c.tx, c.task.IntentNo, c.task.IntentID, ids)
	if err != nil {
		return err
	}
	for _, t := range waiting {
		follow := *c
		follow.task, follow.actor = t, caller.System
		if err := follow.apply(update{status: StatusReady}); err != nil {
			return err
		}
	}
	return saveStatuses(c.tx, waiting)
}
