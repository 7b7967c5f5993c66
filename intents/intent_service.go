package intents

import (
	"context"
	"errors"
	"strconv"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/jsonvalue"
)

// CreateIntent makes an intent and begins its log. Making it a part of another intent needs admin access to that one, because
// that one then cannot be completed before its part. Depending on another intent needs read access to that one.
func (s *Service) CreateIntent(ctx context.Context, req *openintentv1.CreateIntentRequest) (*openintentv1.Intent, error) {
	draft, err := intentDraft(req)
	if err != nil {
		return nil, err
	}
	var created Intent
	err = s.write(ctx, func(tx *database.Tx, c caller.Caller) error {
		created = draft
		createdBy, err := actAs(c, "created_by", req.GetCreatedBy())
		if err != nil {
			return err
		}
		created.CreatedBy = createdBy
		return s.create(tx, c, &created, policyWords[req.GetDefaultPolicy()])
	})
	if err != nil {
		return nil, err
	}
	return intentMessage(&created)
}

// intentDraft reads the new intent from a request, except its creator.
func intentDraft(req *openintentv1.CreateIntentRequest) (Intent, error) {
	draft := Intent{
		Title:       req.GetTitle(),
		Description: req.GetDescription(),
		Status:      StatusDraft,
		Confidence:  req.GetConfidence(),
		Version:     1,
		ParentID:    req.GetParentIntentId(),
		DependsOn:   req.GetDependsOn(),
	}
	if draft.DependsOn == nil {
		draft.DependsOn = []string{}
	}
	if req.Status != nil {
		draft.Status = statusWords[req.GetStatus()]
	}
	if draft.Status.Terminal() {
		return Intent{}, fault.BadField("status", "an intent cannot begin %s; leave the status out to begin as a draft.",
			draft.Status)
	}
	switch alias := req.GetParentId(); {
	case draft.ParentID == "":
		draft.ParentID = alias
	case alias != "" && alias != draft.ParentID:
		return Intent{}, fault.BadField("parent_id", "it differs from parent_intent_id; send only that one.")
	}
	var failures [3]error
	draft.Constraints, failures[0] = jsonvalue.FromStruct(req.GetConstraints(), "constraints")
	draft.State, failures[1] = jsonvalue.FromStruct(req.GetState(), "state")
	draft.GovernancePolicy, failures[2] = jsonvalue.FromStruct(req.GetGovernancePolicy(), "governance_policy")
	draft.Constraints, draft.State = draft.Constraints.OrEmpty(), draft.State.OrEmpty()
	return draft, firstOf(append(failures[:],
		caller.CheckText("title", draft.Title),
		caller.CheckText("description", draft.Description),
		checkSize("constraints", len(draft.Constraints), maxStateBytes),
		checkSize("state", len(draft.State), maxStateBytes),
		checkSize("governance_policy", len(draft.GovernancePolicy), maxStateBytes),
	)...)
}

// create stores a new intent and logs it. With a policy, the intent has an access control list from the beginning; the log
// reports it in the same way as a list that comes later.
func (s *Service) create(tx *database.Tx, c caller.Caller, intent *Intent, policy Policy) error {
	if err := s.checkReferences(tx, c, intent); err != nil {
		return err
	}
	intent.ID = newID()
	if intent.Status == StatusBlocked {
		unmet, err := hasUnmet(tx, intent.ID, intent.DependsOn)
		if err != nil {
			return err
		}
		if err := StatusDraft.mayBecome(StatusBlocked, unmet); err != nil {
			return err
		}
	}
	if err := s.stock.Take(tx, c.KeyID, stockOfIntents); err != nil {
		return err
	}
	intent.CreatedAt = lockedHeadsOf(tx).clock()
	intent.UpdatedAt = intent.CreatedAt
	head, err := insertIntent(tx, intent, c.KeyID)
	if err != nil {
		return err
	}
	var payload jsonvalue.Builder
	payload.String("title", intent.Title).String("status", string(intent.Status))
	if intent.ParentID != "" {
		payload.String("parent_intent_id", intent.ParentID)
	}
	head.Name(intent.CreatedBy)
	if err := log(head, c, intent.CreatedBy, "intent_created", &payload); err != nil || policy == policyNone {
		return err
	}
	head.RaiseEpoch()
	return s.setPolicy(tx, c, intent.CreatedBy, head, policy)
}

// checkReferences refuses a new intent if its parent or a dependency does not exist, or if the creator lacks the necessary
// access to one of them. It locks the parent so that it cannot end meanwhile: all parts of a completed intent are completed.
func (s *Service) checkReferences(tx *database.Tx, c caller.Caller, intent *Intent) error {
	if intent.ParentID != "" {
		parent, err := s.take(tx, c, intent.CreatedBy, intent.ParentID, PermissionAdmin)
		if err != nil {
			return unknownReference(err, "parent_intent_id")
		}
		if parent.Ended() {
			return ErrIntentEnded
		}
	}
	for i, id := range intent.DependsOn {
		if _, err := s.view(tx, c, intent.CreatedBy, id, PermissionRead); err != nil {
			return unknownReference(err, "depends_on["+strconv.Itoa(i)+"]")
		}
	}
	return nil
}

// unknownReference turns ErrIntentNotFound into a refusal of the field that names the intent.
func unknownReference(err error, field string) error {
	if errors.Is(err, ErrIntentNotFound) {
		return fault.BadField(field, "there is no such intent; check the id.")
	}
	return err
}

// GetIntent returns one intent.
func (s *Service) GetIntent(ctx context.Context, req *openintentv1.GetIntentRequest) (*openintentv1.Intent, error) {
	var found *Intent
	err := s.read(ctx, func(tx *database.Tx, c caller.Caller) error {
		head, err := s.view(tx, c, c.Agent, req.GetIntentId(), PermissionRead)
		if err != nil {
			return err
		}
		found, err = loadIntent(tx, head.IntentNo)
		return err
	})
	if err != nil {
		return nil, err
	}
	return intentMessage(found)
}

// PatchIntentState changes an intent's state, by patches or by keys. It applies all changes or none.
func (s *Service) PatchIntentState(
	ctx context.Context, req *openintentv1.PatchIntentStateRequest,
) (*openintentv1.Intent, error) {
	if req.ExpectedVersion == nil {
		return nil, errVersionRequired
	}
	operations, err := stateOperations(req)
	if err != nil {
		return nil, err
	}
	var intent *Intent
	err = s.write(ctx, func(tx *database.Tx, c caller.Caller) error {
		head, err := s.take(tx, c, c.Agent, req.GetIntentId(), PermissionWrite)
		if err != nil {
			return err
		}
		if head.Ended() {
			return ErrIntentEnded
		}
		intent, err = loadIntent(tx, head.IntentNo)
		if err != nil {
			return err
		}
		if intent.Version != req.GetExpectedVersion() {
			return versionMismatch(intent.Version)
		}
		return s.patchState(tx, c, head, intent, operations)
	})
	if err != nil {
		return nil, err
	}
	return intentMessage(intent)
}

func (s *Service) patchState(
	tx *database.Tx, c caller.Caller, head *Head, intent *Intent, operations []jsonvalue.Operation,
) error {
	state, err := intent.State.Apply(operations)
	if err != nil {
		return err
	}
	if err := checkSize("state", len(state), maxStateBytes); err != nil {
		return err
	}
	intent.State = state
	intent.Version++
	patches := operationsText(operations)
	if err := checkSize("patches", len(patches), maxStateBytes); err != nil {
		return err
	}
	var payload jsonvalue.Builder
	payload.Raw("patches", patches)
	payload.Raw("version", strconv.AppendInt(nil, intent.Version, 10))
	if err := log(head, c, c.Agent, "state_patched", &payload); err != nil {
		return err
	}
	intent.UpdatedAt = head.LastAt
	return updateIntent(tx, intent)
}

// SetIntentStatus moves an intent along its lifecycle. It checks the version first: if two callers race, the later one learns
// that the intent has changed, and not that its step has become illegal.
func (s *Service) SetIntentStatus(
	ctx context.Context, req *openintentv1.SetIntentStatusRequest,
) (*openintentv1.Intent, error) {
	if req.ExpectedVersion == nil {
		return nil, errVersionRequired
	}
	if err := caller.CheckText("reason", req.GetReason()); err != nil {
		return nil, err
	}
	next := statusWords[req.GetStatus()]
	var intent *Intent
	err := s.write(ctx, func(tx *database.Tx, c caller.Caller) error {
		head, err := s.take(tx, c, c.Agent, req.GetIntentId(), PermissionAdmin)
		if err != nil {
			return err
		}
		intent, err = loadIntent(tx, head.IntentNo)
		if err != nil {
			return err
		}
		if intent.Version != req.GetExpectedVersion() {
			return versionMismatch(intent.Version)
		}
		unmet, err := hasUnmet(tx, intent.ID, intent.DependsOn)
		if err != nil {
			return err
		}
		if err := intent.Status.mayBecome(next, unmet); err != nil {
			return err
		}
		return s.changeStatus(tx, c, head, intent, next, req.Reason)
	})
	if err != nil {
		return nil, err
	}
	return intentMessage(intent)
}

// changeStatus makes a legal step: it logs the step, changes the head, and runs the hooks of the rooms above.
func (s *Service) changeStatus(
	tx *database.Tx, c caller.Caller, head *Head, intent *Intent, next Status, reason *string,
) error {
	if next.Terminal() {
		for _, hook := range s.onEnding {
			if err := hook(tx, head); err != nil {
				return err
			}
		}
	}
	intent.Version++
	var payload jsonvalue.Builder
	payload.String("from", string(intent.Status)).String("to", string(next)).String("status", string(next))
	payload.Raw("version", strconv.AppendInt(nil, intent.Version, 10))
	if reason != nil {
		payload.String("reason", *reason)
	}
	if err := log(head, c, c.Agent, "status_changed", &payload); err != nil {
		return err
	}
	at := head.LastAt
	intent.Status, intent.UpdatedAt = next, at
	if err := updateIntent(tx, intent); err != nil {
		return err
	}
	if next == StatusSuspended {
		if err := runHooks(s.onSuspending, tx, head, at); err != nil {
			return err
		}
	}
	resumed := head.Status == StatusSuspended && !next.Terminal()
	head.become(next, at)
	switch {
	case next.Terminal():
		return runHooks(s.onTerminal, tx, head, at)
	case resumed:
		return runHooks(s.onResumed, tx, head, at)
	}
	return nil
}

func runHooks(
	hooks []func(*database.Tx, *Head, time.Time) error, tx *database.Tx, head *Head, at time.Time,
) error {
	for _, hook := range hooks {
		if err := hook(tx, head, at); err != nil {
			return err
		}
	}
	return nil
}
