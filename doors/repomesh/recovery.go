package repomesh

import (
	"context"
	"strconv"

	openintentv1 "openintent/gen/openintent/v1"
)

// recovery is what was done for an agent that was back after a crash.
type recovery struct {
	ReleasedLocks []string `json:"released_locks"`
	// RequeuedTasks wait for somebody again, and FailedTasks have no attempt left.
	RequeuedTasks []string `json:"requeued_tasks"`
	FailedTasks   []string `json:"failed_tasks,omitempty"`
	// MessageID is what told the others.
	MessageID string `json:"message_id"`
}

// recover frees the caller's locks, gives its tasks back and tells the others. Each step may be repeated.
func (s *session) recover(ctx context.Context, task string) (any, error) {
	if _, err := s.beat(ctx, "active", task); err != nil {
		return nil, err
	}
	did := &recovery{RequeuedTasks: []string{}}
	var err error
	if did.ReleasedLocks, err = s.releaseAll(ctx); err != nil {
		return nil, err
	}
	if did.ReleasedLocks == nil {
		did.ReleasedLocks = []string{}
	}
	for _, status := range []openintentv1.TaskStatus{openintentv1.TaskStatus_TASK_STATUS_RUNNING, openintentv1.TaskStatus_TASK_STATUS_CLAIMED} {
		if err := s.giveBack(ctx, status, did); err != nil {
			return nil, err
		}
	}
	told, err := s.send(ctx, recovered(did))
	if err != nil {
		return nil, err
	}
	did.MessageID = told.GetId()
	answer, err := s.me(ctx)
	answer.Recovery = did
	return answer, err
}

// recovered is what an agent tells the others after a crash.
func recovered(did *recovery) *draft {
	d := &draft{name: chat, severity: "info", subject: new("Recovered"), values: map[string]any{
		"content": "Recovered from crash, resuming work. Locks released: " + strconv.Itoa(len(did.ReleasedLocks)) +
			"; tasks given back: " + strconv.Itoa(len(did.RequeuedTasks)) + ".",
	}}
	_ = d.store() // a text can be stored
	return d
}

// taskPages is how many pages of tasks at work the door looks through for those of one agent.
const taskPages = 20

// giveBack makes the caller's tasks of a status open again. The attempt that the crash ended counts as failed.
func (s *session) giveBack(ctx context.Context, status openintentv1.TaskStatus, did *recovery) error {
	request := &openintentv1.ListTasksRequest{IntentId: s.intent, Status: &status}
	var mine []*openintentv1.Task
	for range taskPages {
		page, err := s.caller.Tasks.ListTasks(ctx, request)
		if err != nil {
			return err
		}
		for _, t := range page.GetTasks() {
			if t.GetAssignedAgent() == s.caller.Agent {
				mine = append(mine, t)
			}
		}
		if request.Cursor = page.NextCursor; request.Cursor == nil {
			break
		}
	}
	for _, t := range mine {
		changed, err := s.change(ctx, t.GetId(), func(now *openintentv1.Task) change {
			return change{status: openintentv1.TaskStatus_TASK_STATUS_READY, nothing: now.GetAssignedAgent() != s.caller.Agent || now.GetStatus() != status}
		})
		switch {
		case err == nil && changed.GetStatus() == openintentv1.TaskStatus_TASK_STATUS_READY:
			did.RequeuedTasks = append(did.RequeuedTasks, t.GetId())
		case unless(err, "INVALID_TRANSITION", "TASK_ENDED") == nil:
			did.FailedTasks = append(did.FailedTasks, t.GetId())
		default:
			return err
		}
	}
	return nil
}
