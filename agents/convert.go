package agents

import (
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/optional"
)

var statusMessages = map[Status]openintentv1.AgentStatus{
	StatusRegistering:  openintentv1.AgentStatus_AGENT_STATUS_REGISTERING,
	StatusActive:       openintentv1.AgentStatus_AGENT_STATUS_ACTIVE,
	StatusDraining:     openintentv1.AgentStatus_AGENT_STATUS_DRAINING,
	StatusUnhealthy:    openintentv1.AgentStatus_AGENT_STATUS_UNHEALTHY,
	StatusDead:         openintentv1.AgentStatus_AGENT_STATUS_DEAD,
	StatusDeregistered: openintentv1.AgentStatus_AGENT_STATUS_DEREGISTERED,
}

// statusOf returns the domain's word for a status; it is empty for a value that the protocol does not define.
func statusOf(message openintentv1.AgentStatus) Status {
	for status, candidate := range statusMessages {
		if candidate == message {
			return status
		}
	}
	return ""
}

// message returns the record as clients see it; the key that registered the agent stays hidden.
func message(a *Agent) (*openintentv1.Agent, error) {
	metadata, err := a.Metadata.Struct()
	if err != nil {
		return nil, err
	}
	return &openintentv1.Agent{
		AgentId:      a.ID,
		RoleId:       database.NullText(a.RoleID),
		Name:         database.NullText(a.Name),
		Capabilities: a.Capabilities,
		Capacity: &openintentv1.AgentCapacity{
			MaxConcurrentTasks: int32(a.MaxConcurrentTasks),
			CurrentLoad:        int32(a.CurrentLoad),
		},
		Status:   statusMessages[a.Status],
		Endpoint: database.NullText(a.Endpoint),
		HeartbeatConfig: &openintentv1.HeartbeatConfig{
			IntervalSeconds:       narrow(&a.Silence.Interval),
			UnhealthyAfterSeconds: narrow(&a.Silence.UnhealthyAfter),
			DeadAfterSeconds:      narrow(&a.Silence.DeadAfter),
		},
		Metadata:            metadata,
		RegisteredAt:        timestamppb.New(a.RegisteredAt),
		LastHeartbeatAt:     timestamppb.New(a.LastHeartbeatAt),
		DrainTimeoutSeconds: narrow(a.DrainTimeoutSeconds),
		Version:             a.Version,
		StatusNote:          database.NullText(a.Note),
		SilentSince:         optional.Time(a.SilentSince),
		PresumedDeadAt:      optional.Time(a.DeadAt),
		PresenceReason:      database.NullText(a.Why),
	}, nil
}

// reply turns a handler's result into its answer.
func reply(a *Agent, err error) (*openintentv1.Agent, error) {
	if err != nil {
		return nil, err
	}
	return message(a)
}

// narrow converts a number back to int32, which it was in the request.
func narrow(n *int64) *int32 {
	if n == nil {
		return nil
	}
	narrowed := int32(*n)
	return &narrowed
}

func widen(n *int32) *int64 {
	if n == nil {
		return nil
	}
	widened := int64(*n)
	return &widened
}
