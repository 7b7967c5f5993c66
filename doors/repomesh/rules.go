package repomesh

import (
	"context"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
)

// effect is what followed from an event by a rule.
type effect struct {
	// TaskID is the event's task, and Status what it is now.
	TaskID string `json:"task_id,omitempty"`
	Status string `json:"status,omitempty"`
	// Findings is how many findings the task has.
	Findings *int `json:"findings_count,omitempty"`
	// Note says what became of a finding that its task does not keep.
	Note string `json:"note,omitempty"`
	// Failures are the failed tests of a result.
	Failures []failure `json:"failures,omitempty"`
	// Refused says why the rule changed nothing. The event is stored all the same.
	Refused *refusedPayload `json:"refused,omitempty"`
}

// follow does what follows from an event, with the caller's rights. A repeat of the event under its idempotency key does it again, and
// changes nothing that is done already.
func (s *session) follow(ctx context.Context, d *draft, sent *openintentv1.Message) *effect {
	made, err := &effect{}, error(nil)
	switch d.name {
	case "review.started":
		err = s.review(ctx, d, made, started)
	case finding:
		err = s.review(ctx, d, made, s.keep(d, sent, made))
	case "review.completed":
		var decide func(*openintentv1.Task) (change, error)
		if decide, err = s.completed(ctx, d); err == nil {
			err = s.review(ctx, d, made, decide)
		}
	case "test.result":
		err = s.failed(ctx, d, sent, made)
	default:
		return nil
	}
	if err != nil {
		made.Refused = s.without(ctx, "event.log", err)
	}
	return made
}

// without says why a part of an action was not done whose other part was. It logs a failure of the door itself.
func (s *session) without(ctx context.Context, action string, err error) *refusedPayload {
	s.door.failed(ctx, action, err)
	refused := errorOf(s.caller.Agent, action, 0, doors.RefusalOf(err)).Payload
	return &refused
}

// review changes the task of a review.
func (s *session) review(ctx context.Context, d *draft, made *effect, decide func(*openintentv1.Task) (change, error)) error {
	made.TaskID = value(d.task)
	var refused error
	t, err := s.change(ctx, made.TaskID, func(t *openintentv1.Task) change {
		var c change
		if c, refused = decide(t); refused != nil {
			return change{nothing: true}
		}
		return c
	})
	if err != nil {
		return err
	}
	made.Status = taskStatuses[t.GetStatus()]
	if made.Note == "" {
		made.Findings = new(len(findingsOf(t)))
	}
	return refused
}

// started sets a task in progress.
func started(t *openintentv1.Task) (change, error) {
	const running = openintentv1.TaskStatus_TASK_STATUS_RUNNING
	return change{status: running, nothing: t.GetStatus() == running}, nil
}

// completed completes a task with what the review has counted, and with how many findings the task shows.
func (s *session) completed(ctx context.Context, d *draft) (func(*openintentv1.Task) (change, error), error) {
	t, err := s.taskInMesh(ctx, value(d.task))
	if err != nil {
		return nil, err
	}
	findings, err := s.findings(ctx, t)
	if err != nil {
		return nil, err
	}
	counts := map[string]any{"findings_count": len(findings)}
	for _, m := range registry["review.completed"] {
		if said := d.values[m.name]; said != nil {
			counts[m.name] = said
		}
	}
	return func(t *openintentv1.Task) (change, error) {
		const done = openintentv1.TaskStatus_TASK_STATUS_COMPLETED
		return change{status: done, add: counts, nothing: t.GetStatus() == done}, nil
	}, nil
}
