package channels

import (
	"time"

	"openintent/internal/database"
)

// Exclusions are an intent's open explicit channels as of one epoch, and which of them list some agents. They show when an
// agent becomes able to take part in a channel; Rules.Participates decides whether it does.
type Exclusions struct {
	explicit map[int64]struct{}
	listed   map[memberPlace]time.Time
}

// memberPlace is an agent's place on the member list of one of an intent's channels.
type memberPlace struct {
	ChannelNo int64
	Agent     string
}

// PrepareExclusions returns the statement that reads an intent's exclusions, and where it puts them.
func PrepareExclusions(tx *database.Tx, intentNo int64, agentIDs []string) (*Exclusions, database.Statement) {
	e := &Exclusions{explicit: make(map[int64]struct{}), listed: make(map[memberPlace]time.Time)}
	in, arg := tx.In("m.agent_id", agentIDs)
	return e, database.Statement{
		SQL: "SELECT c.channel_no, m.agent_id, m.added_at FROM channels AS c LEFT JOIN members AS m" +
			" ON m.intent_no = c.intent_no AND m.channel_no = c.channel_no AND " + in +
			" WHERE c.intent_no = ? AND c.policy = ? AND c.closed_at IS NULL",
		Args: []any{arg, intentNo, string(PolicyExplicit)},
		Scan: func(row database.Row) error {
			var channelNo int64
			var agent *string
			var addedAt *int64
			if err := row.Scan(&channelNo, &agent, &addedAt); err != nil {
				return err
			}
			e.explicit[channelNo] = struct{}{}
			if agent != nil {
				e.listed[memberPlace{channelNo, *agent}] = database.Time(*addedAt)
			}
			return nil
		},
	}
}

// Excludes reports whether the channel is an open explicit one that does not list the agent; departedAt is the agent's last
// departure.
func (e *Exclusions) Excludes(channelNo int64, agent string, departedAt time.Time) bool {
	_, explicit := e.explicit[channelNo]
	return explicit && !e.listed[memberPlace{channelNo, agent}].After(departedAt)
}

// Admitting returns the channels that exclude the agent by these exclusions, but no longer by the later ones.
func (e *Exclusions) Admitting(later *Exclusions, agent string, departedBefore, departedAt time.Time) []int64 {
	var admitting []int64
	for no := range e.explicit {
		if e.Excludes(no, agent, departedBefore) && !later.Excludes(no, agent, departedAt) {
			admitting = append(admitting, no)
		}
	}
	return admitting
}
