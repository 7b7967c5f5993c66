package intents

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/emptypb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/jsonvalue"
	"openintent/internal/optional"
	"openintent/internal/pages"
)

const (
	defaultCoordinatorRole   = "coordinator"
	defaultHeartbeatInterval = time.Minute
)

// CreateCoordinator makes an agent an intent's coordinator. An intent has one coordinator at a time. If the present one has
// fallen silent, the new one replaces it, and the old one counts as failed over.
func (s *Service) CreateCoordinator(
	ctx context.Context, req *openintentv1.CreateCoordinatorRequest,
) (*openintentv1.Coordinator, error) {
	draft, err := coordinatorDraft(req)
	if err != nil {
		return nil, err
	}
	var created Coordinator
	var now time.Time
	err = s.write(ctx, func(tx *database.Tx, c caller.Caller) error {
		created = draft
		if created.AgentID == "" {
			created.AgentID = c.Agent
		}
		if err := caller.CheckName("agent_id", created.AgentID); err != nil {
			return err
		}
		head, rules, err := s.lockWithRules(tx, req.GetIntentId())
		if err != nil {
			return err
		}
		now = head.Now()
		if err := rules.Require(c, c.Agent, PermissionAdmin, now); err != nil {
			return err
		}
		if head.Ended() {
			return ErrIntentEnded
		}
		return begin(tx, c, head, &created)
	})
	if err != nil {
		return nil, err
	}
	return coordinatorMessage(&created, now)
}

// coordinatorDraft reads the new coordinator from a request.
func coordinatorDraft(req *openintentv1.CreateCoordinatorRequest) (Coordinator, error) {
	draft := Coordinator{
		AgentID:           req.GetAgentId(),
		Role:              defaultCoordinatorRole,
		SupervisorID:      req.SupervisorId,
		Type:              CoordinatorLLM,
		Status:            CoordinatorActive,
		HeartbeatInterval: defaultHeartbeatInterval,
	}
	if req.GetRole() != "" {
		draft.Role = req.GetRole()
	}
	if req.CoordinatorType != nil {
		draft.Type = coordinatorTypeWords[req.GetCoordinatorType()]
	}
	if req.HeartbeatIntervalSeconds != nil {
		draft.HeartbeatInterval = time.Duration(req.GetHeartbeatIntervalSeconds()) * time.Second
	}
	switch alias := req.GetCoordinatorId(); {
	case draft.AgentID == "":
		draft.AgentID = alias
	case alias != "" && alias != draft.AgentID:
		return draft, fault.BadField("coordinator_id", "it differs from agent_id; send only that one.")
	}
	switch {
	case req.GetPortfolioId() != "":
		return draft, fault.BadField("portfolio_id", "the server keeps no portfolios; name an intent instead.")
	case req.GetScope() == openintentv1.CoordinatorScope_COORDINATOR_SCOPE_PORTFOLIO:
		return draft, fault.BadField("scope", "the server keeps no portfolios; the scope must be intent.")
	case req.GetIntentId() == "":
		return draft, fault.BadField("intent_id", "name the intent to coordinate.")
	}
	var failures [3]error
	draft.ExpiresAt, failures[0] = optional.TimeFrom("expires_at", req.GetExpiresAt())
	draft.Guardrails, failures[1] = jsonvalue.FromStruct(req.GetGuardrails(), "guardrails")
	draft.Metadata, failures[2] = jsonvalue.FromStruct(req.GetMetadata(), "metadata")
	draft.Metadata = draft.Metadata.OrEmpty()
	return draft, firstOf(append(failures[:],
		caller.CheckText("role", draft.Role),
		caller.CheckText("supervisor_id", req.GetSupervisorId()),
		checkSize("guardrails", len(draft.Guardrails), maxStateBytes),
		checkSize("metadata", len(draft.Metadata), maxStateBytes),
	)...)
}

// begin makes the draft the intent's coordinator; it replaces one that has fallen silent.
func begin(tx *database.Tx, c caller.Caller, head *Head, draft *Coordinator) error {
	now := head.Now()
	if !draft.ExpiresAt.IsZero() && !now.Before(draft.ExpiresAt) {
		return fault.BadField("expires_at", "it must lie in the future; leave it out to coordinate until removed.")
	}
	former, err := inPlace(tx, head, now)
	if err != nil {
		return err
	}
	draft.ID, draft.IntentNo, draft.IntentID = newID(), head.IntentNo, head.IntentID
	if former != nil {
		if former.StatusAt(now) != CoordinatorUnresponsive {
			return errCoordinatorExists
		}
		former.Status = CoordinatorFailedOver
		if err := updateCoordinator(tx, former); err != nil {
			return err
		}
		var payload jsonvalue.Builder
		payload.String("coordinator_id", former.ID).String("agent_id", former.AgentID)
		if err := log(head, c, caller.System, "coordinator.failed_over", &payload); err != nil {
			return err
		}
	}
	if err := logHandoff(head, c, former, draft); err != nil {
		return err
	}
	draft.GrantedAt, draft.LastHeartbeatAt = head.LastAt, head.Now()
	head.RaiseEpoch()
	head.Name(draft.AgentID)
	return insertCoordinator(tx, draft)
}

// inPlace returns the coordinator that coordinates the intent, or would if it were not silent. It returns nil if there is none.
func inPlace(tx *database.Tx, head *Head, now time.Time) (*Coordinator, error) {
	all, err := liveCoordinators(tx, head)
	if err != nil {
		return nil, err
	}
	for _, coordinator := range all {
		if coordinator.coordinates(now) || coordinator.StatusAt(now) == CoordinatorUnresponsive {
			return coordinator, nil
		}
	}
	return nil, nil
}

// logHandoff logs who coordinates from now on and who did before; either may be nobody.
func logHandoff(head *Head, c caller.Caller, from, to *Coordinator) error {
	var payload jsonvalue.Builder
	for _, side := range []struct {
		prefix      string
		coordinator *Coordinator
	}{{"", to}, {"previous_", from}} {
		if side.coordinator == nil {
			payload.Null(side.prefix + "coordinator_id").Null(side.prefix + "agent_id")
			continue
		}
		payload.String(side.prefix+"coordinator_id", side.coordinator.ID)
		payload.String(side.prefix+"agent_id", side.coordinator.AgentID)
	}
	return log(head, c, c.Agent, "coordinator.handoff", &payload)
}

// GetCoordinator returns one coordinator to a caller that may read its intent.
func (s *Service) GetCoordinator(
	ctx context.Context, req *openintentv1.GetCoordinatorRequest,
) (*openintentv1.Coordinator, error) {
	var found *Coordinator
	var now time.Time
	err := s.read(ctx, func(tx *database.Tx, c caller.Caller) error {
		no, err := intentOfCoordinator(tx, req.GetCoordinatorId())
		if err != nil {
			return err
		}
		head, err := s.viewNumber(tx, c, c.Agent, no, PermissionRead)
		if err != nil {
			return err
		}
		now = head.Now()
		found, err = findCoordinator(tx, &head, req.GetCoordinatorId())
		return err
	})
	if err != nil {
		return nil, err
	}
	return coordinatorMessage(found, now)
}

// ListCoordinators lists an intent's coordinators, oldest first, past ones included.
func (s *Service) ListCoordinators(
	ctx context.Context, req *openintentv1.ListCoordinatorsRequest,
) (*openintentv1.ListCoordinatorsResponse, error) {
	var after place
	page, err := pages.Begin("coordinators", req, pages.MaxEntries, &after.at, &after.id)
	if err != nil {
		return nil, err
	}
	var now time.Time
	var coordinators []*Coordinator
	err = s.readHeavy(ctx, func(tx *database.Tx, c caller.Caller) error {
		head, err := s.view(tx, c, c.Agent, req.GetIntentId(), PermissionRead)
		if err != nil {
			return err
		}
		now = head.Now()
		coordinators, err = listCoordinators(tx, page, &head, after)
		return err
	})
	if err != nil {
		return nil, err
	}
	messages := make([]*openintentv1.Coordinator, len(coordinators))
	for i, coordinator := range coordinators {
		if messages[i], err = coordinatorMessage(coordinator, now); err != nil {
			return nil, err
		}
	}
	response := &openintentv1.ListCoordinatorsResponse{}
	response.Coordinators, response.NextCursor = pages.Close(page, messages, func(i int) []any {
		return []any{database.Micros(coordinators[i].GrantedAt), coordinators[i].ID}
	})
	return response, nil
}

// CoordinatorHeartbeat notes that a coordinator is alive. Only the coordinator itself or the operator may call it. It raises
// the epoch, because rules in caches contain the last heartbeat.
func (s *Service) CoordinatorHeartbeat(
	ctx context.Context, req *openintentv1.CoordinatorHeartbeatRequest,
) (*openintentv1.CoordinatorHeartbeatResponse, error) {
	var beaten *Coordinator
	err := s.write(ctx, func(tx *database.Tx, c caller.Caller) error {
		no, err := intentOfCoordinator(tx, req.GetCoordinatorId())
		if err != nil {
			return err
		}
		heads, err := Lock(tx, no)
		if err != nil {
			return err
		}
		beaten, err = findCoordinator(tx, heads[0], req.GetCoordinatorId())
		if err != nil {
			return err
		}
		if c.Agent != beaten.AgentID && !c.IsOperator {
			return errNotCoordinator
		}
		return beat(tx, c, heads[0], beaten)
	})
	if err != nil {
		return nil, err
	}
	return &openintentv1.CoordinatorHeartbeatResponse{
		Status:          "ok",
		NextHeartbeatAt: optional.Time(beaten.LastHeartbeatAt.Add(beaten.HeartbeatInterval)),
	}, nil
}

func beat(tx *database.Tx, c caller.Caller, head *Head, coordinator *Coordinator) error {
	now := head.Now()
	if coordinator.ended(now) {
		return errCoordinatorEnded
	}
	if coordinator.StatusAt(now) == CoordinatorUnresponsive {
		var payload jsonvalue.Builder
		payload.String("coordinator_id", coordinator.ID).String("agent_id", coordinator.AgentID)
		if err := log(head, c, coordinator.AgentID, "coordinator.resumed", &payload); err != nil {
			return err
		}
	}
	coordinator.LastHeartbeatAt = now
	head.RaiseEpoch()
	return updateCoordinator(tx, coordinator)
}

// RemoveCoordinator ends an intent's present coordination. The coordinator itself may call it, and any caller that may create
// a coordinator.
func (s *Service) RemoveCoordinator(
	ctx context.Context, req *openintentv1.RemoveCoordinatorRequest,
) (*emptypb.Empty, error) {
	err := s.write(ctx, func(tx *database.Tx, c caller.Caller) error {
		head, rules, err := s.lockWithRules(tx, req.GetIntentId())
		if err != nil {
			return err
		}
		if err := rules.Require(c, c.Agent, PermissionRead, head.Now()); err != nil {
			return err
		}
		coordinator, err := inPlace(tx, head, head.Now())
		if err != nil {
			return err
		}
		if coordinator == nil {
			return errCoordinatorNotFound
		}
		if c.Agent != coordinator.AgentID {
			if err := rules.Require(c, c.Agent, PermissionAdmin, head.Now()); err != nil {
				return err
			}
		}
		coordinator.Status = CoordinatorCompleted
		if err := logHandoff(head, c, coordinator, nil); err != nil {
			return err
		}
		head.RaiseEpoch()
		return updateCoordinator(tx, coordinator)
	})
	if err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, nil
}

// intentOfCoordinator returns the intent that a coordinator was made for.
func intentOfCoordinator(tx *database.Tx, coordinatorID string) (int64, error) {
	if err := caller.CheckText("coordinator_id", coordinatorID); err != nil {
		return 0, err
	}
	no, err := findIntentOfCoordinator(tx, coordinatorID)
	if err == nil && no == 0 {
		err = errCoordinatorNotFound
	}
	return no, err
}
