package tasks

import (
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/jsonvalue"
	"openintent/internal/optional"
)

var statusMessages = map[Status]openintentv1.TaskStatus{
	StatusPending:   openintentv1.TaskStatus_TASK_STATUS_PENDING,
	StatusReady:     openintentv1.TaskStatus_TASK_STATUS_READY,
	StatusClaimed:   openintentv1.TaskStatus_TASK_STATUS_CLAIMED,
	StatusRunning:   openintentv1.TaskStatus_TASK_STATUS_RUNNING,
	StatusBlocked:   openintentv1.TaskStatus_TASK_STATUS_BLOCKED,
	StatusCompleted: openintentv1.TaskStatus_TASK_STATUS_COMPLETED,
	StatusFailed:    openintentv1.TaskStatus_TASK_STATUS_FAILED,
	StatusCancelled: openintentv1.TaskStatus_TASK_STATUS_CANCELLED,
	StatusSkipped:   openintentv1.TaskStatus_TASK_STATUS_SKIPPED,
}

// statusOf returns the domain's word for a status; it is empty for an unset status.
func statusOf(message openintentv1.TaskStatus) Status {
	for status, candidate := range statusMessages {
		if candidate == message {
			return status
		}
	}
	return ""
}

// message returns a task as clients see it.
func message(t *Task) (*openintentv1.Task, error) {
	m := &openintentv1.Task{
		Id:                   t.ID,
		IntentId:             t.IntentID,
		PlanId:               database.NullText(t.PlanID),
		Name:                 t.Name,
		Description:          t.Description,
		Status:               statusMessages[t.Status],
		State:                statusMessages[t.Status],
		Version:              t.Version,
		Priority:             int32(t.Priority),
		AssignedAgent:        database.NullText(t.AssignedAgent),
		CapabilitiesRequired: t.CapabilitiesRequired,
		DependsOn:            t.DependsOn,
		Blocks:               t.Blocks,
		ParentTaskId:         database.NullText(t.ParentTaskID),
		Attempt:              int32(t.Attempt),
		MaxAttempts:          int32(t.MaxAttempts),
		BlockedReason:        database.NullText(t.BlockedReason),
		CreatedAt:            optional.Time(t.CreatedAt),
		StartedAt:            optional.Time(t.StartedAt),
		CompletedAt:          optional.Time(t.CompletedAt),
	}
	if t.TimeoutSeconds != nil {
		limit := int32(*t.TimeoutSeconds)
		m.TimeoutSeconds = &limit
	}
	return m, freeForm(t, m)
}

// freeForm fills in the values that the task carries without the server reading them.
func freeForm(t *Task, m *openintentv1.Task) (err error) {
	if m.Input, err = t.Input.Struct(); err != nil {
		return err
	}
	if m.Output, err = t.Output.Struct(); err != nil {
		return err
	}
	if m.RetryPolicy, err = t.RetryPolicy.Struct(); err != nil {
		return err
	}
	if m.Metadata, err = t.Metadata.Struct(); err != nil {
		return err
	}
	if m.Permissions, err = valueOf(t.Permissions); err != nil {
		return err
	}
	if m.Error, err = valueOf(t.Error); err != nil {
		return err
	}
	artifacts, err := valueOf(t.Artifacts)
	m.Artifacts = artifacts.GetListValue().GetValues()
	return err
}

// reply turns a handler's result into its answer.
func reply(t *Task, err error) (*openintentv1.Task, error) {
	if err != nil {
		return nil, err
	}
	return message(t)
}

// maxFreeFormBytes bounds each free-form field, as JSON text.
const maxFreeFormBytes = 256 << 10

// objectText validates a free-form object; nil becomes an absent one.
func objectText(value *structpb.Struct, field string) (jsonvalue.Object, error) {
	object, err := jsonvalue.FromStruct(value, field)
	if err != nil {
		return nil, err
	}
	return object, checkSize(field, len(object))
}

// valueText validates a value of any kind, as the member of an object, and returns its JSON text, or nil for null.
func valueText(value *structpb.Value, field string) ([]byte, error) {
	if _, null := value.GetKind().(*structpb.Value_NullValue); value == nil || null {
		return nil, nil
	}
	object, err := jsonvalue.FromStruct(&structpb.Struct{Fields: map[string]*structpb.Value{field: value}}, "")
	if err != nil {
		return nil, err
	}
	text, _ := object.Member(field)
	return text, checkSize(field, len(text))
}

func checkSize(field string, size int) error {
	if size > maxFreeFormBytes {
		return fault.LargeField(field, maxFreeFormBytes)
	}
	return nil
}

// valueOf reads back a text that valueText returned.
func valueOf(text []byte) (*structpb.Value, error) {
	if text == nil {
		return nil, nil
	}
	const member = "value"
	var b jsonvalue.Builder
	object, err := b.Raw(member, text).Object().Struct()
	return object.GetFields()[member], err
}

// errorText returns the JSON text of a task's error, or nil for null.
func errorText(value *structpb.Value) ([]byte, error) {
	switch value.GetKind().(type) {
	case nil, *structpb.Value_NullValue, *structpb.Value_StringValue, *structpb.Value_StructValue:
		return valueText(value, "error")
	}
	return nil, fault.BadField("error", "must be a text or an object.")
}
