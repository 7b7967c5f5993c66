package openintent

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/types/known/emptypb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/sdk/go/internal/pace"
)

const (
	// defaultHeartbeat is the interval between an agent's heartbeats when the server names none.
	defaultHeartbeat = 30 * time.Second
	// farewellPatience bounds the time for the last calls of an agent that leaves.
	farewellPatience = 2 * time.Second
)

// register registers the agent with the server, and returns the interval of its heartbeats.
func (r *receiver) register(ctx context.Context) (time.Duration, error) {
	options := r.agent.options
	registered, err := persistently(ctx, r, func(ctx context.Context) (*openintentv1.Agent, error) {
		return r.client.raw.Agents.UpsertAgent(ctx, &openintentv1.RegisterAgentRequest{
			AgentId: &options.ID, RoleId: optional(options.Role), Capabilities: options.Capabilities,
		})
	})
	if seconds := registered.GetHeartbeatConfig().GetIntervalSeconds(); seconds > 0 {
		return time.Duration(seconds) * time.Second, err
	}
	return defaultHeartbeat, err
}

// heartbeats sends heartbeats until the context ends. When the server has declared the agent dead, it registers the
// agent again. It also does so when the agent is still draining, because the process from which this one took over
// has reported that.
func (r *receiver) heartbeats(ctx context.Context, interval time.Duration) {
	beats := pace.Of(r.client.options.Server).Work()
	defer beats.End()
	for due := r.agent.note.untilHeartbeat; due(ctx, beats, interval) == nil; {
		tookOver := r.tookOver.Swap(false)
		status, err := r.heartbeat(ctx, openintentv1.AgentStatus_AGENT_STATUS_ACTIVE)
		draining := tookOver && status == openintentv1.AgentStatus_AGENT_STATUS_DRAINING
		gone := errors.Is(err, ErrFailedPrecondition) || errors.Is(err, ErrNotFound)
		if gone {
			r.agent.note.again()
		}
		if draining || gone {
			_, err = r.register(ctx)
		} else if err != nil && tookOver {
			r.tookOver.Store(true)
		}
		if due = r.agent.note.untilHeartbeat; err != nil {
			due = untilBeat // a note does not make a failing heartbeat come sooner
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, ErrUnavailable) { // the stream tells that the server is away
			r.log.warn("could not send its heartbeat", err)
		}
	}
}

// untilBeat waits for an interval.
func untilBeat(ctx context.Context, beats *pace.Work, interval time.Duration) error {
	return beats.Until(ctx, beats.Now().Add(interval))
}

// heartbeat reports one status, and a new note of the agent. It returns the status that the server has.
func (r *receiver) heartbeat(ctx context.Context, status openintentv1.AgentStatus) (openintentv1.AgentStatus, error) {
	note := r.agent.note.next()
	beat, err := repeated(ctx, r.client, func(ctx context.Context) (*openintentv1.HeartbeatResponse, error) {
		return r.client.raw.Agents.Heartbeat(ctx, &openintentv1.HeartbeatRequest{
			AgentId: r.agent.options.ID, Status: &status, StatusNote: note,
		})
	})
	switch {
	case err == nil:
		r.agent.note.told(note)
	case note != nil && errors.Is(err, ErrInvalidArgument):
		r.log.warn("had its status note refused", err)
		r.agent.note.told(note)
		return r.heartbeat(ctx, status)
	}
	return beat.GetAgentStatus(), err
}

// sayFarewell tells the server that the agent is draining.
func (r *receiver) sayFarewell(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, farewellPatience)
	defer cancel()
	_, err := r.heartbeat(ctx, openintentv1.AgentStatus_AGENT_STATUS_DRAINING)
	if err != nil && r.life.Err() == nil && !errors.Is(err, ErrUnavailable) {
		r.log.warn("could not report that it is draining", err)
	}
}

func (a *Agent) deregister(ctx context.Context) error {
	_, err := repeated(ctx, a.client, func(ctx context.Context) (*emptypb.Empty, error) {
		return a.client.raw.Agents.DeregisterAgent(ctx, &openintentv1.DeregisterAgentRequest{AgentId: a.options.ID})
	})
	return err
}
