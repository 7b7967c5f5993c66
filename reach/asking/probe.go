package asking

import (
	"context"
	"slices"
	"sync"
	"time"

	"openintent/agents"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/optional"
	"openintent/reach"
)

const (
	// probesEach is how many probes a key begins at most within probesPer on this server.
	probesEach = 6
	probesPer  = time.Minute
	// mostIntents is in how many of the newest intents in which an agent takes part it is looked for whether the caller administers one.
	mostIntents = 100
)

var errTooManyProbes = fault.New(fault.Quota, "TOO_MANY_PROBES",
	"This key has begun 6 probes within a minute, the most that one may; try again in a minute.").After(probesPer)

// ProbeAgent asks the open ways to an agent whether somebody is there.
func (s *Service) ProbeAgent(ctx context.Context, req *openintentv1.ProbeAgentRequest) (*openintentv1.ProbeAgentResponse, error) {
	c, err := caller.Known(ctx)
	if err != nil {
		return nil, err
	}
	agent := req.GetAgentId()
	if err := s.mayProbe(ctx, c, agent); err != nil {
		return nil, err
	}
	if !s.begun.take(c.KeyID, s.DB.Now()) {
		return nil, errTooManyProbes
	}
	expected, err := s.expected(ctx, c, agent)
	if err != nil {
		return nil, err
	}
	id, found, err := s.Here.Probe(ctx, agent, expected...)
	if err != nil {
		return nil, err
	}
	answer := &openintentv1.ProbeAgentResponse{ProbeId: id}
	if answer.Reach, err = s.reachOf(ctx, c, agent, found...); err != nil {
		return nil, err
	}
	for _, path := range answer.GetReach().GetPaths() {
		if !slices.ContainsFunc(found, func(p reach.Probed) bool { return string(p.Kind) == path.GetKind() }) {
			found = append(found, reach.Probed{Kind: reach.Kind(path.GetKind())})
		}
	}
	for _, path := range found {
		answer.Paths = append(answer.Paths, &openintentv1.ProbedPath{
			Kind: string(path.Kind), OfferedAt: optional.Time(path.Offered), ConfirmedAt: optional.Time(path.Confirmed),
		})
	}
	return answer, nil
}

// expected returns the kinds of open paths that can be handed a probe, as far as their clients take part in probes.
func (s *Service) expected(ctx context.Context, c caller.Caller, agent string) (kinds []reach.Kind, err error) {
	err = s.DB.ReadFor(ctx, c.Reader(), func(tx *database.Tx) error {
		kinds = nil
		found, err := s.Here.Read(tx, []string{agent})
		if err != nil {
			return err
		}
		for _, path := range found[agent].Paths {
			if path.Kind == reach.Stream || path.Kind == reach.C2A {
				kinds = append(kinds, path.Kind)
			}
		}
		return nil
	})
	return kinds, err
}

// ConfirmProbe notes that a probe has arrived at the calling agent.
func (s *Service) ConfirmProbe(ctx context.Context, req *openintentv1.ConfirmProbeRequest) (*openintentv1.ConfirmProbeResponse, error) {
	c, err := caller.Known(ctx)
	if err != nil {
		return nil, err
	}
	if c.Agent != req.GetAgentId() {
		return nil, c.CheckOwns(req.GetAgentId())
	}
	return &openintentv1.ConfirmProbeResponse{}, s.Here.ConfirmProbe(c.Agent, req.GetProbeId(), reach.Stream)
}

// mayProbe refuses a caller who may not know of the agent, and one who neither speaks for it nor administers an intent in which it takes part.
func (s *Service) mayProbe(ctx context.Context, c caller.Caller, agent string) error {
	if err := caller.CheckName("agent_id", agent); err != nil || c.Owns(agent) {
		return err
	}
	return s.DB.ReadFor(ctx, c.Reader(), func(tx *database.Tx) error {
		known, err := mayKnow(tx, c, agent)
		switch {
		case err != nil:
			return err
		case !known:
			return agents.ErrNotFound
		}
		administers, err := s.administersOneOf(tx, c, agent)
		if err == nil && !administers {
			return c.CheckOwns(agent)
		}
		return err
	})
}

// administersOneOf reports whether the caller administers an intent in which an agent takes part.
func (s *Service) administersOneOf(tx *database.Tx, c caller.Caller, agent string) (bool, error) {
	var intentNos []int64
	err := tx.Pipeline(database.Statement{
		SQL:  "SELECT DISTINCT intent_no FROM audiences WHERE name = ? AND sent ORDER BY intent_no DESC LIMIT ?",
		Args: []any{agent, mostIntents},
		Scan: func(row database.Row) error {
			var no int64
			err := row.Scan(&no)
			intentNos = append(intentNos, no)
			return err
		},
	})
	if err != nil || len(intentNos) == 0 {
		return false, err
	}
	statement, heads := intents.PrepareHeads(tx, intentNos)
	if err := tx.Pipeline(statement); err != nil {
		return false, err
	}
	rules, err := s.Intents.AllRules(tx, heads())
	now := tx.Now()
	for _, one := range rules {
		if c.Scope.CoversIntent(one.IntentID()) && one.Given(c.Agent, c.IsOperator, now) >= intents.PermissionAdmin {
			return true, err
		}
	}
	return false, err
}

// begun are the times at which each key has begun probes.
type begun struct {
	mutex sync.Mutex
	of    map[string][]time.Time
}

// take notes a probe, or refuses it. It forgets keys that have begun none for a while.
func (b *begun) take(key string, now time.Time) bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for other, times := range b.of {
		times = slices.DeleteFunc(times, func(at time.Time) bool { return now.Sub(at) >= probesPer })
		if b.of[other] = times; len(times) == 0 {
			delete(b.of, other)
		}
	}
	if len(b.of[key]) >= probesEach {
		return false
	}
	if b.of == nil {
		b.of = make(map[string][]time.Time)
	}
	b.of[key] = append(b.of[key], now)
	return true
}
