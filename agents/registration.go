package agents

import (
	"context"
	"fmt"
	"time"

	"github.com/oklog/ulid/v2"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/jsonvalue"
)

// maxMetadataBytes bounds an agent's metadata, as JSON text.
const maxMetadataBytes = 256 << 10

// registration is what an agent says about itself. A nil field was left out of the request; an empty text clears the value.
type registration struct {
	id                   string
	role, name, endpoint *string
	capabilities         []string
	capacity             *openintentv1.AgentCapacity
	interval             *int64
	unhealthyAfter       *int64
	deadAfter            *int64
	metadata             jsonvalue.Object
	drainTimeoutSeconds  *int64
	takesPartIn          string // an intent's id, or empty
}

// RegisterAgent makes an active record, for the agent itself, a key bound to it, or the operator. It refuses an agent that
// is present already; a dead or deregistered agent starts anew.
func (s *Service) RegisterAgent(
	ctx context.Context, req *openintentv1.RegisterAgentRequest,
) (*openintentv1.Agent, error) {
	return s.register(ctx, req, ErrExists)
}

// UpsertAgent registers as RegisterAgent does, but if the agent is present already, UpsertAgent writes the given values into
// its record and makes it active.
func (s *Service) UpsertAgent(
	ctx context.Context, req *openintentv1.RegisterAgentRequest,
) (*openintentv1.Agent, error) {
	return s.register(ctx, req, nil)
}

// register stores a registration. If the agent is present already, register returns whenPresent, or updates the record when
// whenPresent is nil.
func (s *Service) register(
	ctx context.Context, req *openintentv1.RegisterAgentRequest, whenPresent error,
) (*openintentv1.Agent, error) {
	c, err := caller.Known(ctx)
	if err != nil {
		return nil, err
	}
	said, err := readRegistration(c, req)
	if err != nil {
		return nil, err
	}
	var agent *Agent
	err = s.db.Write(ctx, func(tx *database.Tx) (err error) {
		if err := s.takePart(tx, c, said); err != nil {
			return err
		}
		agent, err = s.store(tx, c, said, whenPresent)
		return err
	})
	return reply(agent, err)
}

// takePart has the rooms above note that the agent takes part in the intent that the registration names.
func (s *Service) takePart(tx *database.Tx, c caller.Caller, said registration) error {
	if said.takesPartIn == "" {
		return nil
	}
	for _, fn := range s.onTakingPart {
		if err := fn(tx, c, said.id, said.takesPartIn); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) store(tx *database.Tx, c caller.Caller, said registration, whenPresent error) (*Agent, error) {
	fresh := newAgent(said.id, c.KeyID, tx.Now())
	if err := said.applyTo(fresh); err != nil {
		return nil, err
	}
	inserted, err := insert(tx, fresh)
	if err != nil {
		return nil, err
	}
	if inserted {
		if err := s.takeRole(tx, fresh, fresh.RegisteredAt); err != nil {
			return nil, err
		}
		s.changed(tx, Presence{}, fresh, reasonRegistered)
		return fresh, save(tx, fresh)
	}
	agent, err := lock(tx, said.id)
	if err != nil {
		return nil, err
	}
	earlier, now := *agent, tx.Now()
	switch {
	case !agent.Status.Present():
		fresh.RegisteredAt, fresh.LastHeartbeatAt, fresh.DepartedAt = now, now, agent.DepartedAt
		fresh.RoleSince, fresh.roleAhead = agent.RoleSince, agent.roleAhead
		fresh.refusals = agent.refusals
		agent = fresh
	case whenPresent != nil:
		return nil, whenPresent
	default:
		if err := said.update(agent, now); err != nil {
			return nil, err
		}
	}
	if !earlier.goesOnWith(agent.RoleID, now) {
		if err := s.takeRole(tx, agent, now); err != nil {
			return nil, err
		}
	}
	s.changed(tx, earlier.presence(), agent, reasonRegistered)
	return agent, save(tx, agent)
}

// readRegistration reads a request and checks it as far as that is possible without the record.
func readRegistration(c caller.Caller, req *openintentv1.RegisterAgentRequest) (registration, error) {
	said := registration{
		id:                  req.GetAgentId(),
		role:                req.RoleId,
		name:                req.Name,
		endpoint:            req.Endpoint,
		capabilities:        req.GetCapabilities(),
		capacity:            req.GetCapacity(),
		drainTimeoutSeconds: widen(req.DrainTimeoutSeconds),
		takesPartIn:         req.GetTakesPartIn(),
	}
	if silence := req.GetHeartbeatConfig(); silence != nil {
		said.interval = widen(silence.IntervalSeconds)
		said.unhealthyAfter = widen(silence.UnhealthyAfterSeconds)
		said.deadAfter = widen(silence.DeadAfterSeconds)
	}
	if said.id == "" {
		said.id = ownID(c)
	}
	if err := c.CheckNotForGuest("agent_id", said.id); err != nil {
		return said, err
	}
	if err := said.check(c, req); err != nil {
		return said, err
	}
	metadata, err := jsonvalue.FromStruct(req.GetMetadata(), "metadata")
	if err == nil && len(metadata) > maxMetadataBytes {
		err = fault.LargeField("metadata", maxMetadataBytes)
	}
	said.metadata = metadata
	return said, err
}

// ownID returns the id for a registration that names none: the caller's own, or a new one when the operator calls.
func ownID(c caller.Caller) string {
	if c.IsOperator && c.Agent == caller.Operator {
		return "agent_" + ulid.Make().String()
	}
	return c.Agent
}

func (said registration) check(c caller.Caller, req *openintentv1.RegisterAgentRequest) error {
	if err := caller.CheckName("agent_id", said.id); err != nil {
		return err
	}
	if err := c.CheckOwns(said.id); err != nil {
		return err
	}
	if req.GetEndpoint() != "" && c.Scope != nil {
		return errEndpointOutOfScope
	}
	if said.takesPartIn != "" && !c.Scope.CoversIntent(said.takesPartIn) {
		return errPartOutOfScope
	}
	if req.Status != nil && req.GetStatus() != openintentv1.AgentStatus_AGENT_STATUS_ACTIVE {
		return fault.BadField("status", "registering makes an agent active; leave the status out.")
	}
	if err := CheckRole("role_id", req.GetRoleId()); err != nil {
		return err
	}
	if !c.MayTakeRole(req.GetRoleId()) {
		return errRoleNotAllowed
	}
	if err := caller.CheckText("name", req.GetName()); err != nil {
		return err
	}
	if err := caller.CheckText("endpoint", req.GetEndpoint()); err != nil {
		return err
	}
	for i, capability := range said.capabilities {
		if err := caller.CheckText(fmt.Sprintf("capabilities[%d]", i), capability); err != nil {
			return err
		}
	}
	return nil
}

// applyTo writes the given values into a record, and refuses them if the record's thresholds of silence then contradict
// each other.
func (said registration) applyTo(a *Agent) error {
	set(&a.RoleID, said.role)
	set(&a.Name, said.name)
	set(&a.Endpoint, said.endpoint)
	set(&a.Silence.Interval, said.interval)
	set(&a.Silence.UnhealthyAfter, said.unhealthyAfter)
	set(&a.Silence.DeadAfter, said.deadAfter)
	if len(said.capabilities) > 0 {
		a.Capabilities = said.capabilities
	}
	if said.capacity != nil {
		a.CurrentLoad = int64(said.capacity.GetCurrentLoad())
		if most := said.capacity.GetMaxConcurrentTasks(); most > 0 {
			a.MaxConcurrentTasks = int64(most)
		}
	}
	if !said.metadata.IsNull() {
		a.Metadata = said.metadata
	}
	if said.drainTimeoutSeconds != nil {
		a.DrainTimeoutSeconds = said.drainTimeoutSeconds
	}
	return a.Silence.check()
}

// update writes the given values into the record of an agent that is present, and makes the agent active: a draining agent
// that registers has come back.
func (said registration) update(a *Agent, now time.Time) error {
	if err := said.applyTo(a); err != nil {
		return err
	}
	a.become(StatusActive, now)
	return nil
}

// check refuses thresholds by which an agent could count as silent between two heartbeats that it promised.
func (s Silence) check() error {
	switch {
	case s.UnhealthyAfter < 2*s.Interval:
		return fault.BadField("heartbeat_config.unhealthy_after_seconds",
			"must be at least twice interval_seconds, %d or more.", 2*s.Interval)
	case s.DeadAfter < 2*s.UnhealthyAfter:
		return fault.BadField("heartbeat_config.dead_after_seconds",
			"must be at least twice unhealthy_after_seconds, %d or more.", 2*s.UnhealthyAfter)
	}
	return nil
}

func set[T any](target *T, given *T) {
	if given != nil {
		*target = *given
	}
}
