package repomesh

import (
	"context"

	"openintent/doors"
	"openintent/fault"
	openintentv1 "openintent/gen/openintent/v1"
)

// effect is what followed from an event by a rule.
type effect struct {
	// TaskID is the event's task, and Status what it is now.
	TaskID string `json:"task_id,omitempty"`
	Status string `json:"status,omitempty"`
	// Findings is how many findings the task has.
	Findings *int `json:"findings_count,omitempty"`
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
	case "review.finding":
		err = s.review(ctx, d, made, d.found(sent))
	case "review.completed":
		err = s.review(ctx, d, made, d.completed)
	case "test.result":
		err = s.failed(ctx, d, sent, made)
	default:
		return nil
	}
	if err != nil {
		refused := errorOf(s.caller.Agent, "event.log", 0, doors.RefusalOf(err)).Payload
		made.Refused = &refused
	}
	return made
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
	made.Status, made.Findings = taskStatuses[t.GetStatus()], new(len(findingsOf(t)))
	return refused
}

// started sets a task in progress.
func started(t *openintentv1.Task) (change, error) {
	const running = openintentv1.TaskStatus_TASK_STATUS_RUNNING
	return change{status: running, nothing: t.GetStatus() == running}, nil
}

// findingsMember is where a task keeps its findings.
const findingsMember = "findings"

func findingsOf(t *openintentv1.Task) []any {
	found, _ := t.GetOutput().AsMap()[findingsMember].([]any)
	return found
}

const (
	// mostFindings is how many findings a task keeps, and findingRoom how many bytes of each text of one.
	mostFindings = 200
	findingRoom  = 1_000
)

// errManyFindings refuses to add to a long list. The findings themselves are messages, and stay.
var errManyFindings = fault.New(fault.Quota, "TOO_MANY_FINDINGS",
	"The task has %d findings and takes no more; this one is in the channel alone.", mostFindings)

// found appends a finding to its task.
func (d *draft) found(sent *openintentv1.Message) func(*openintentv1.Task) (change, error) {
	return func(t *openintentv1.Task) (change, error) {
		findings := findingsOf(t)
		for _, earlier := range findings {
			if kept, isObject := earlier.(map[string]any); isObject && kept["message_id"] == sent.GetId() {
				return change{nothing: true}, nil
			}
		}
		if len(findings) >= mostFindings {
			return change{}, errManyFindings
		}
		finding := map[string]any{"message_id": sent.GetId(), "reviewer_id": sent.GetSender()}
		for _, m := range registry["review.finding"] {
			switch said := d.values[m.name].(type) {
			case string:
				finding[m.name] = doors.Beginning(said, findingRoom)
			case float64:
				finding[m.name] = said
			}
		}
		return change{add: map[string]any{findingsMember: append(findings, finding)}}, nil
	}
}

// completed completes a task with what the review has counted.
func (d *draft) completed(t *openintentv1.Task) (change, error) {
	const done = openintentv1.TaskStatus_TASK_STATUS_COMPLETED
	counts := map[string]any{"findings_count": len(findingsOf(t))}
	for _, m := range registry["review.completed"] {
		if said := d.values[m.name]; said != nil {
			counts[m.name] = said
		}
	}
	return change{status: done, add: counts, nothing: t.GetStatus() == done}, nil
}
