package openintent

import (
	"context"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
)

// ReachLevel says in one word whether anybody would hear what is sent to an agent.
type ReachLevel string

// These are the levels.
const (
	// ReachUnknown: nobody has called in the name of this agent for 30 days, or ever.
	ReachUnknown ReachLevel = "unknown"
	// ReachNone: the agent was here, and no way to it is open. What is sent to it is stored, and waits.
	ReachNone ReachLevel = "none"
	// ReachWakeable: nothing of it listens now, but something can wake it.
	ReachWakeable ReachLevel = "wakeable"
	// ReachLive: something of it listens now.
	ReachLive ReachLevel = "live"
)

var reachLevels = wordsOf(map[openintentv1.ReachLevel]ReachLevel{
	openintentv1.ReachLevel_REACH_LEVEL_UNKNOWN:  ReachUnknown,
	openintentv1.ReachLevel_REACH_LEVEL_NONE:     ReachNone,
	openintentv1.ReachLevel_REACH_LEVEL_WAKEABLE: ReachWakeable,
	openintentv1.ReachLevel_REACH_LEVEL_LIVE:     ReachLive,
})

// Reach is what the server knows of the ways to an agent. Times are zero where nothing is known.
type Reach struct {
	AgentID string
	Level   ReachLevel
	// Paths are the open ways, one entry for each kind.
	Paths []ReachPath
	// LastHeardAt is when the agent last made a call of any kind, LastOfferedAt when a message was last handed to a way to it, and
	// LastSurfacedAt when its harness last said that its model saw one; each to within 10 seconds.
	LastHeardAt, LastOfferedAt, LastSurfacedAt time.Time
	// SurfacesIn is how long its last 20 messages took from the one to the other, as a median; zero below three.
	SurfacesIn time.Duration
	// Waiting is how much must be answered that was handed to nothing of the agent's yet, up to 100, and OldestAt when the oldest of it was
	// sent. Only the agent itself and the operator see it.
	Waiting  int
	OldestAt time.Time
}

// ReachPath is one open way to an agent.
type ReachPath struct {
	// Kind is stream, wait, c2a, webhook, wake or listen.
	Kind string
	// Since is since when such a way has been open, and ProvenAt when its other end last proved that it is there.
	Since, ProvenAt time.Time
}

// Reach says whether anybody would hear what is sent to an agent now. ErrNotFound says that this client may not know.
func (c *Client) Reach(ctx context.Context, agentID string) (*Reach, error) {
	found, err := repeated(ctx, c, func(ctx context.Context) (*openintentv1.Reach, error) {
		return c.raw.Reach.GetReach(ctx, &openintentv1.GetReachRequest{AgentId: agentID})
	})
	if err != nil {
		return nil, err
	}
	reach := &Reach{
		AgentID: found.GetAgentId(), Level: reachLevels.word(found.GetLevel()), LastHeardAt: timeOf(found.GetLastHeardAt()),
		LastOfferedAt: timeOf(found.GetLastOfferedAt()), LastSurfacedAt: timeOf(found.GetLastSurfacedAt()),
		SurfacesIn: time.Duration(found.GetSurfacesInMs()) * time.Millisecond,
		Waiting:    int(found.GetWaiting().GetCount()), OldestAt: timeOf(found.GetWaiting().GetOldestAt()),
	}
	for _, path := range found.GetPaths() {
		reach.Paths = append(reach.Paths, ReachPath{Kind: path.GetKind(), Since: timeOf(path.GetSince()), ProvenAt: timeOf(path.GetProvenAt())})
	}
	return reach, nil
}
