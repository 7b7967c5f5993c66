package tasks

import (
	"context"
	"fmt"
	"slices"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
)

// defaultMaxAttempts is how many attempts a task has if its request does not say.
const defaultMaxAttempts = 3

// CreateTask makes a task for a caller with write access to the intent. The task is ready, or pending while it depends on
// tasks that are not completed or skipped yet.
func (s *Service) CreateTask(ctx context.Context, req *openintentv1.CreateTaskRequest) (*openintentv1.Task, error) {
	c, err := caller.Known(ctx)
	if err != nil {
		return nil, err
	}
	draft, err := readDraft(req)
	if err != nil {
		return nil, err
	}
	var task *Task
	err = s.db.Write(ctx, func(tx *database.Tx) error {
		intentNo, err := s.intents.Resolve(tx, req.GetIntentId())
		if err != nil {
			return err
		}
		change, err := s.begin(tx, c, c.Agent, intentNo)
		if err != nil {
			return err
		}
		if change.head.Ended() {
			return intents.ErrIntentEnded
		}
		copied := *draft
		task = &copied
		change.task = task
		return change.create()
	})
	return reply(task, err)
}

// create stores the change's task as a new one of the intent.
func (c *change) create() error {
	t := c.task
	if err := c.service.intents.Stock().Take(c.tx, c.caller.KeyID, stockKind.Name); err != nil {
		return err
	}
	t.ID, t.IntentNo, t.IntentID = newID(), c.head.IntentNo, c.head.IntentID
	t.Status, t.Version = StatusPending, 1
	met, err := c.dependencies()
	if err != nil {
		return err
	}
	position, at := c.head.Next()
	t.CreatedAt = at
	if err := c.logAt(position, at, "task.created", ""); err != nil {
		return err
	}
	if met {
		position, at = c.head.Next()
		t.become(StatusReady, at)
		if err := c.logAt(position, at, "task.ready", StatusPending); err != nil {
			return err
		}
	}
	return insert(c.tx, t, c.caller.KeyID)
}

// dependencies reports whether every task that this one depends on is completed or skipped. It refuses a reference to
// anything but a task of the intent.
func (c *change) dependencies() (met bool, err error) {
	wanted := c.task.DependsOn
	if c.task.ParentTaskID != "" {
		wanted = append(slices.Clone(wanted), c.task.ParentTaskID)
	}
	found, err := some(c.tx, c.task.IntentNo, c.task.IntentID, wanted)
	if err != nil {
		return false, err
	}
	statuses := make(map[string]Status, len(found))
	for _, t := range found {
		statuses[t.ID] = t.Status
	}
	met = true
	for i, id := range c.task.DependsOn {
		status, ok := statuses[id]
		if !ok {
			return false, notOfIntent(fmt.Sprintf("depends_on[%d]", i))
		}
		if slices.Contains(c.task.DependsOn[:i], id) {
			return false, fault.BadField(fmt.Sprintf("depends_on[%d]", i), "must be named once only.")
		}
		met = met && status.satisfies()
	}
	if _, ok := statuses[c.task.ParentTaskID]; !ok && c.task.ParentTaskID != "" {
		return false, notOfIntent("parent_task_id")
	}
	return met, nil
}

// readDraft reads a request and checks it as far as that is possible without the intent.
func readDraft(req *openintentv1.CreateTaskRequest) (*Task, error) {
	t := &Task{
		PlanID:               req.GetPlanId(),
		Name:                 req.GetName(),
		Description:          req.GetDescription(),
		Priority:             int64(req.GetPriority()),
		Artifacts:            []byte("[]"),
		AssignedAgent:        req.GetAssignedAgent(),
		CapabilitiesRequired: req.GetCapabilitiesRequired(),
		DependsOn:            req.GetDependsOn(),
		ParentTaskID:         req.GetParentTaskId(),
		MaxAttempts:          defaultMaxAttempts,
	}
	if req.MaxAttempts != nil {
		t.MaxAttempts = int64(req.GetMaxAttempts())
	}
	if req.TimeoutSeconds != nil {
		limit := int64(req.GetTimeoutSeconds())
		t.TimeoutSeconds = &limit
	}
	if err := t.checkTexts(); err != nil {
		return nil, err
	}
	var err error
	if t.Input, err = objectText(req.GetInput(), "input"); err != nil {
		return nil, err
	}
	if t.RetryPolicy, err = objectText(req.GetRetryPolicy(), "retry_policy"); err != nil {
		return nil, err
	}
	if t.Metadata, err = objectText(req.GetMetadata(), "metadata"); err != nil {
		return nil, err
	}
	t.Input, t.Metadata = t.Input.OrEmpty(), t.Metadata.OrEmpty()
	t.Permissions, err = valueText(req.GetPermissions(), "permissions")
	return t, err
}

// checkTexts refuses texts that the store cannot keep, and a name that no agent can have.
func (t *Task) checkTexts() error {
	texts := []struct{ field, value string }{
		{"name", t.Name}, {"description", t.Description}, {"plan_id", t.PlanID},
	}
	for i, capability := range t.CapabilitiesRequired {
		texts = append(texts, struct{ field, value string }{fmt.Sprintf("capabilities_required[%d]", i), capability})
	}
	for _, text := range texts {
		if err := caller.CheckText(text.field, text.value); err != nil {
			return err
		}
	}
	return checkAgent("assigned_agent", t.AssignedAgent)
}

// checkAgent refuses to assign a task to a name that no agent can have; the empty name stands for nobody.
func checkAgent(field, name string) error {
	if name == "" {
		return nil
	}
	return caller.CheckName(field, name)
}
