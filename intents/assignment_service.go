package intents

import (
	"context"

	"google.golang.org/protobuf/types/known/emptypb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/jsonvalue"
	"openintent/internal/pages"
)

const defaultRole = "worker"

// ListAssignments lists the agents assigned to an intent, in order of assignment.
func (s *Service) ListAssignments(
	ctx context.Context, req *openintentv1.ListAssignmentsRequest,
) (*openintentv1.ListAssignmentsResponse, error) {
	var after place
	page, err := pages.Begin("assignments", req, pages.MaxEntries, &after.at, &after.id)
	if err != nil {
		return nil, err
	}
	var assignments []Assignment
	err = s.readHeavy(ctx, func(tx *database.Tx, c caller.Caller) error {
		head, err := s.view(tx, c, c.Agent, req.GetIntentId(), PermissionRead)
		if err != nil {
			return err
		}
		assignments, err = listAssignments(tx, page, &head, after)
		return err
	})
	if err != nil {
		return nil, err
	}
	messages := make([]*openintentv1.Assignment, len(assignments))
	for i, assignment := range assignments {
		messages[i] = assignmentMessage(assignment)
	}
	response := &openintentv1.ListAssignmentsResponse{}
	response.Assignments, response.NextCursor = pages.Close(page, messages, func(i int) []any {
		return []any{database.Micros(assignments[i].AssignedAt), assignments[i].AgentID}
	})
	return response, nil
}

// AssignAgent assigns an agent to an intent. Assigning it again changes only its role; the assignment stays the same.
func (s *Service) AssignAgent(
	ctx context.Context, req *openintentv1.AssignAgentRequest,
) (*openintentv1.Assignment, error) {
	role := defaultRole
	if req.GetRole() != "" {
		role = req.GetRole()
	}
	if err := firstOf(caller.CheckName("agent_id", req.GetAgentId()), caller.CheckText("role", role)); err != nil {
		return nil, err
	}
	var assignment Assignment
	err := s.write(ctx, func(tx *database.Tx, c caller.Caller) error {
		head, err := s.take(tx, c, c.Agent, req.GetIntentId(), PermissionAdmin)
		if err != nil {
			return err
		}
		if head.Ended() {
			return ErrIntentEnded
		}
		assignment, err = assign(tx, c, head, req.GetAgentId(), role)
		return err
	})
	if err != nil {
		return nil, err
	}
	return assignmentMessage(assignment), nil
}

func assign(tx *database.Tx, c caller.Caller, head *Head, agentID, role string) (Assignment, error) {
	existing, err := findAssignment(tx, head, agentID)
	if err != nil {
		return Assignment{}, err
	}
	if existing != nil && existing.Role == role {
		return *existing, nil
	}
	var payload jsonvalue.Builder
	payload.String("agent_id", agentID).String("role", role)
	if err := log(head, c, c.Agent, "agent_assigned", &payload); err != nil {
		return Assignment{}, err
	}
	head.RaiseEpoch()
	if existing != nil {
		existing.Role = role
		return *existing, updateAssignment(tx, head, *existing)
	}
	assignment := Assignment{
		ID: newID(), IntentID: head.IntentID, AgentID: agentID, Role: role, AssignedAt: head.LastAt,
	}
	head.Name(agentID)
	return assignment, insertAssignment(tx, head, assignment)
}

// UnassignAgent removes an assignment.
func (s *Service) UnassignAgent(ctx context.Context, req *openintentv1.UnassignAgentRequest) (*emptypb.Empty, error) {
	if err := caller.CheckText("agent_id", req.GetAgentId()); err != nil {
		return nil, err
	}
	err := s.write(ctx, func(tx *database.Tx, c caller.Caller) error {
		head, err := s.take(tx, c, c.Agent, req.GetIntentId(), PermissionAdmin)
		if err != nil {
			return err
		}
		if head.Ended() {
			return ErrIntentEnded
		}
		existing, err := findAssignment(tx, head, req.GetAgentId())
		if err != nil {
			return err
		}
		if existing == nil {
			return errAssignmentNotFound
		}
		var payload jsonvalue.Builder
		payload.String("agent_id", existing.AgentID).String("role", existing.Role)
		if err := log(head, c, c.Agent, "agent_unassigned", &payload); err != nil {
			return err
		}
		head.RaiseEpoch()
		return deleteAssignment(tx, head, existing.AgentID)
	})
	if err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, nil
}
