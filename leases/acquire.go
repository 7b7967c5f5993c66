package leases

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/google/uuid"

	"openintent/agents"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/jsonvalue"
)

const (
	// maxHeld bounds the leases that an agent holds in an intent.
	maxHeld = 1000
	// defaultDuration is how long a lease lasts if its request does not say.
	defaultDuration = 5 * time.Minute
)

// wanted is what a call of AcquireLease asks for.
type wanted struct {
	by       caller.Caller
	agentID  string
	intentNo int64
	scope    string
	duration time.Duration
	// leaseID is the id that the lease gets. By it a call finds its lease again if it cannot know whether the grant was stored.
	leaseID string
}

// AcquireLease leases a scope for a caller with write access. If the scope is not free, the call waits in turn for as long as
// the request says.
func (s *Service) AcquireLease(ctx context.Context, req *openintentv1.AcquireLeaseRequest) (*openintentv1.Lease, error) {
	if err := caller.CheckText("scope", req.GetScope()); err != nil {
		return nil, err
	}
	c, intentNo, err := s.resolve(ctx, req.GetIntentId())
	if err != nil {
		return nil, err
	}
	w := wanted{
		by: c, intentNo: intentNo, scope: req.GetScope(), duration: durationOf(req.DurationSeconds),
		leaseID: uuid.Must(uuid.NewV7()).String(),
	}
	if w.agentID, err = c.ActAs("agent_id", req.GetAgentId()); err != nil {
		return nil, err
	}
	if w.agentID != caller.Operator {
		if err := caller.CheckName("agent_id", w.agentID); err != nil {
			return nil, err
		}
	}
	lease, err := s.acquire(ctx, w, time.Duration(req.GetWaitSeconds())*time.Second)
	if err != nil {
		return nil, err
	}
	return message(req.GetIntentId(), lease, s.db.Now()), nil
}

func durationOf(seconds *int32) time.Duration {
	if seconds == nil {
		return defaultDuration
	}
	return time.Duration(*seconds) * time.Second
}

// attempt grants the scope if it is free and nobody who asked earlier waits for it. Otherwise the call gets or keeps its place
// among those who wait, if it may wait, and is refused if not. A place of 0 is none.
func (s *Service) attempt(ctx context.Context, w wanted, place int64, mayWait bool) (lease *Lease, kept int64, err error) {
	err = s.db.Write(ctx, func(tx *database.Tx) error {
		lease, kept = nil, place
		c, err := s.begin(tx, w.by, w.intentNo)
		if err != nil {
			return err
		}
		around, err := c.admit(w)
		if err != nil {
			return err
		}
		holding, err := c.holding(w.scope)
		if err != nil {
			return err
		}
		switch {
		case holding != nil && holding.ID == w.leaseID:
			lease = holding
			return nil
		case holding != nil && holding.AgentID == w.agentID:
			return held(holding, c.head.IntentID, w.agentID, c.head.Now())
		}
		line, err := c.line(w.scope)
		if err != nil {
			return err
		}
		kept = line.stand(place)
		switch {
		case holding == nil && line.first(kept):
			lease, err = c.grant(w, around)
			if err == nil {
				err = leave(tx, w.intentNo, kept)
			}
			return err
		case mayWait:
			kept, err = c.wait(w, kept, holding)
			return err
		case holding != nil:
			return held(holding, c.head.IntentID, w.agentID, c.head.Now())
		}
		return awaited()
	})
	if err != nil {
		return nil, kept, err // what the transaction granted may not be stored
	}
	return lease, kept, nil
}

// admit refuses those who may hold no lease now, and a scope that names no open task. It returns the surroundings of the
// agent's leases.
func (c *change) admit(w wanted) (surroundings, error) {
	if err := c.rules.Require(c.caller, w.agentID, intents.PermissionWrite, c.head.Now()); err != nil {
		return surroundings{}, err
	}
	if c.head.Ended() {
		return surroundings{}, intents.ErrIntentEnded
	}
	around, err := c.around(w.agentID)
	if err != nil {
		return around, err
	}
	switch around.presence.Status {
	case agents.StatusDraining, agents.StatusDead, agents.StatusDeregistered:
		return around, errLeaving
	}
	if taskID, named := taskOf(w.scope); named {
		ended, err := c.service.tasks.Find(c.tx, w.intentNo, taskID)
		if refusal := (*fault.Fault)(nil); ended || errors.As(err, &refusal) {
			return around, errTask
		}
		return around, err
	}
	return around, nil
}

// holding returns the lease of a scope, or nil if the scope is free. It ends a lease that is over.
func (c *change) holding(scope string) (*Lease, error) {
	l, err := ofScope(c.tx, c.head.IntentNo, scope)
	if err != nil || l == nil {
		return nil, err
	}
	around, err := c.around(l.AgentID)
	if err != nil {
		return nil, err
	}
	why := l.endedBy(around)
	if why == "" {
		return l, nil
	}
	if err := c.end(l, caller.System, why); err != nil {
		return nil, err
	}
	return nil, c.tell()
}

// grant makes the lease of a free scope.
func (c *change) grant(w wanted, around surroundings) (*Lease, error) {
	held, err := countHeld(c.tx, w.intentNo, w.agentID)
	if err != nil {
		return nil, err
	}
	if held >= maxHeld {
		return nil, errTooMany
	}
	position, at := c.head.Next()
	l := &Lease{
		IntentNo: w.intentNo, Scope: w.scope, ID: w.leaseID, AgentID: w.agentID,
		Fence: database.Micros(at), AcquiredAt: at,
	}
	l.extend(around, w.duration)
	if err := insert(c.tx, l); err != nil {
		return nil, err
	}
	var payload jsonvalue.Builder
	describe(&payload, l)
	payload.Raw("duration_seconds", strconv.AppendInt(nil, int64(w.duration/time.Second), 10))
	_, err = c.head.LogAt(position, at, intents.EventDraft{
		Type: "lease_acquired", Actor: w.agentID, Payload: payload.Object(), TraceID: c.caller.TraceID,
	})
	return l, err
}
