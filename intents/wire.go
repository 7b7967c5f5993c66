package intents

import (
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/optional"
	"openintent/internal/pages"
)

// The domain's words and the contract's numbers for the same things.
var (
	statusNumbers = map[Status]openintentv1.IntentStatus{
		StatusDraft:     openintentv1.IntentStatus_INTENT_STATUS_DRAFT,
		StatusActive:    openintentv1.IntentStatus_INTENT_STATUS_ACTIVE,
		StatusBlocked:   openintentv1.IntentStatus_INTENT_STATUS_BLOCKED,
		StatusCompleted: openintentv1.IntentStatus_INTENT_STATUS_COMPLETED,
		StatusAbandoned: openintentv1.IntentStatus_INTENT_STATUS_ABANDONED,
		StatusSuspended: openintentv1.IntentStatus_INTENT_STATUS_SUSPENDED_AWAITING_INPUT,
	}
	policyNumbers = map[Policy]openintentv1.AccessPolicy{
		PolicyOpen:   openintentv1.AccessPolicy_ACCESS_POLICY_OPEN,
		PolicyClosed: openintentv1.AccessPolicy_ACCESS_POLICY_CLOSED,
	}
	principalNumbers = map[PrincipalType]openintentv1.PrincipalType{
		PrincipalUser:  openintentv1.PrincipalType_PRINCIPAL_TYPE_USER,
		PrincipalAgent: openintentv1.PrincipalType_PRINCIPAL_TYPE_AGENT,
		PrincipalGroup: openintentv1.PrincipalType_PRINCIPAL_TYPE_GROUP,
	}
	coordinatorStatusNumbers = map[CoordinatorStatus]openintentv1.CoordinatorStatus{
		CoordinatorRegistering:  openintentv1.CoordinatorStatus_COORDINATOR_STATUS_REGISTERING,
		CoordinatorActive:       openintentv1.CoordinatorStatus_COORDINATOR_STATUS_ACTIVE,
		CoordinatorPaused:       openintentv1.CoordinatorStatus_COORDINATOR_STATUS_PAUSED,
		CoordinatorUnresponsive: openintentv1.CoordinatorStatus_COORDINATOR_STATUS_UNRESPONSIVE,
		CoordinatorFailedOver:   openintentv1.CoordinatorStatus_COORDINATOR_STATUS_FAILED_OVER,
		CoordinatorCompleting:   openintentv1.CoordinatorStatus_COORDINATOR_STATUS_COMPLETING,
		CoordinatorCompleted:    openintentv1.CoordinatorStatus_COORDINATOR_STATUS_COMPLETED,
	}
	coordinatorTypeNumbers = map[CoordinatorType]openintentv1.CoordinatorType{
		CoordinatorLLM:       openintentv1.CoordinatorType_COORDINATOR_TYPE_LLM,
		CoordinatorHuman:     openintentv1.CoordinatorType_COORDINATOR_TYPE_HUMAN,
		CoordinatorComposite: openintentv1.CoordinatorType_COORDINATOR_TYPE_COMPOSITE,
		CoordinatorSystem:    openintentv1.CoordinatorType_COORDINATOR_TYPE_SYSTEM,
	}

	statusWords          = inverted(statusNumbers)
	policyWords          = inverted(policyNumbers)
	principalWords       = inverted(principalNumbers)
	coordinatorTypeWords = inverted(coordinatorTypeNumbers)
)

func inverted[Word, Number comparable](numbers map[Word]Number) map[Number]Word {
	words := make(map[Number]Word, len(numbers))
	for word, number := range numbers {
		words[number] = word
	}
	return words
}

// permissionOf reads a level; the contract numbers the levels as the domain does.
func permissionOf(number openintentv1.Permission) Permission { return Permission(number) }

func intentMessage(intent *Intent) (*openintentv1.Intent, error) {
	constraints, err := intent.Constraints.Struct()
	if err != nil {
		return nil, err
	}
	state, err := intent.State.Struct()
	if err != nil {
		return nil, err
	}
	governance, err := intent.GovernancePolicy.Struct()
	if err != nil {
		return nil, err
	}
	return &openintentv1.Intent{
		Id:               intent.ID,
		Title:            intent.Title,
		Description:      intent.Description,
		Status:           statusNumbers[intent.Status],
		CreatedBy:        intent.CreatedBy,
		Constraints:      constraints,
		State:            state,
		Confidence:       intent.Confidence,
		Version:          intent.Version,
		ParentIntentId:   optional.Text(intent.ParentID),
		DependsOn:        intent.DependsOn,
		GovernancePolicy: governance,
		CreatedAt:        optional.Time(intent.CreatedAt),
		UpdatedAt:        optional.Time(intent.UpdatedAt),
	}, nil
}

func assignmentMessage(a Assignment) *openintentv1.Assignment {
	return &openintentv1.Assignment{
		Id:         a.ID,
		IntentId:   a.IntentID,
		AgentId:    a.AgentID,
		Role:       a.Role,
		AssignedAt: optional.Time(a.AssignedAt),
	}
}

// ToWire returns the event as clients see it, which is the object that its hash covers.
func (e *Event) ToWire() (*openintentv1.Event, error) {
	payload, err := e.Payload.Struct()
	if err != nil {
		return nil, err
	}
	proof, err := e.Proof.Struct()
	if err != nil {
		return nil, err
	}
	return &openintentv1.Event{
		Id:                e.ID,
		IntentId:          e.IntentID,
		EventType:         e.Type,
		Actor:             e.Actor,
		Payload:           payload,
		CreatedAt:         optional.Time(e.CreatedAt),
		Sequence:          e.Sequence,
		PreviousEventHash: optional.Text(e.PreviousHash),
		EventHash:         e.Hash,
		Proof:             proof,
		TraceId:           optional.Text(e.TraceID),
		ParentEventId:     optional.Text(e.ParentEventID),
	}, nil
}

func eventMessages(events []*Event) ([]*openintentv1.Event, error) {
	messages := make([]*openintentv1.Event, len(events))
	for i, event := range events {
		message, err := event.ToWire()
		if err != nil {
			return nil, err
		}
		messages[i] = message
	}
	return messages, nil
}

func entryMessage(intentID string, entry AccessEntry) *openintentv1.AccessEntry {
	return &openintentv1.AccessEntry{
		Id:            entry.ID,
		IntentId:      intentID,
		PrincipalId:   entry.PrincipalID,
		PrincipalType: principalNumbers[entry.PrincipalType],
		Permission:    openintentv1.Permission(entry.Permission),
		GrantedBy:     entry.GrantedBy,
		GrantedAt:     optional.Time(entry.GrantedAt),
		ExpiresAt:     optional.Time(entry.ExpiresAt),
		Reason:        entry.Reason,
	}
}

func accessControlMessage(
	intentID string, policy Policy, page *pages.Page, entries []AccessEntry,
) *openintentv1.AccessControl {
	message := &openintentv1.AccessControl{IntentId: intentID, DefaultPolicy: policyNumbers[policy]}
	messages := make([]*openintentv1.AccessEntry, len(entries))
	for i, entry := range entries {
		messages[i] = entryMessage(intentID, entry)
	}
	message.Entries, message.NextCursor = pages.Close(page, messages, func(i int) []any {
		return []any{database.Micros(entries[i].GrantedAt), entries[i].ID}
	})
	return message
}

// coordinatorMessage returns a coordinator with its status at the given time.
func coordinatorMessage(c *Coordinator, now time.Time) (*openintentv1.Coordinator, error) {
	guardrails, err := c.Guardrails.Struct()
	if err != nil {
		return nil, err
	}
	metadata, err := c.Metadata.Struct()
	if err != nil {
		return nil, err
	}
	return &openintentv1.Coordinator{
		Id:                       c.ID,
		AgentId:                  c.AgentID,
		IntentId:                 &c.IntentID,
		Role:                     c.Role,
		SupervisorId:             c.SupervisorID,
		CoordinatorType:          coordinatorTypeNumbers[c.Type],
		Scope:                    openintentv1.CoordinatorScope_COORDINATOR_SCOPE_INTENT,
		Status:                   coordinatorStatusNumbers[c.StatusAt(now)],
		Guardrails:               guardrails,
		HeartbeatIntervalSeconds: int32(c.HeartbeatInterval / time.Second),
		LastHeartbeatAt:          optional.Time(c.LastHeartbeatAt),
		GrantedAt:                optional.Time(c.GrantedAt),
		ExpiresAt:                optional.Time(c.ExpiresAt),
		Metadata:                 metadata,
	}, nil
}
