package messaging

import (
	"time"

	"openintent/agents"
	"openintent/caller"
	"openintent/database"
	"openintent/intents"
	"openintent/messaging/reading"
)

// inboxState is what an inbox depends on apart from its messages, as one snapshot had it. Nothing enters an inbox by the
// passing of time, so while the state stays the same, only new messages enter it.
type inboxState struct {
	presence agents.Presence
	intents  map[int64]intentState
}

// intentState is the part of the state that belongs to one of the intents that may reach the agent.
type intentState struct {
	epoch, lastPosition int64
	sent                bool
	listedAt            time.Time
}

// inboxState reads the state, the heads of the intents in it, and the agent's reach. Of the intents that may reach the
// agent it takes those that keep messages or may still get some.
func (s *Service) inboxState(tx *database.Tx, agent string) (inboxState, intents.Heads, reading.Reach, error) {
	seen := inboxState{intents: make(map[int64]intentState)}
	var err error
	if seen.presence, err = presenceOf(tx, agent); err != nil {
		return seen, nil, reading.Reach{}, err
	}
	reached, statements := reading.PrepareReach(tx, agent, seen.role())
	if err := tx.Pipeline(statements...); err != nil {
		return seen, nil, reading.Reach{}, err
	}
	var living []int64
	in, argument := tx.In("h.intent_no", reached.Intents())
	err = tx.Pipeline(database.Statement{
		SQL: "SELECT h.intent_no FROM intent_heads h WHERE " + in +
			" AND (h.ended_at IS NULL OR EXISTS (SELECT 1 FROM messages m WHERE m.intent_no = h.intent_no))",
		Args: []any{argument},
		Scan: func(row database.Row) error {
			var intentNo int64
			err := row.Scan(&intentNo)
			living = append(living, intentNo)
			return err
		},
	})
	if err != nil {
		return seen, nil, reading.Reach{}, err
	}
	statement, heads := intents.PrepareHeads(tx, living)
	if err := tx.Pipeline(statement); err != nil {
		return seen, nil, reading.Reach{}, err
	}
	for _, head := range heads() {
		no := head.IntentNo
		seen.intents[no] = intentState{head.Epoch, head.LastPosition, reached.Spoken[no], reached.Listed[no]}
	}
	return seen, heads(), reached, nil
}

// presenceOf reads an agent's record. The record of an agent that is not registered is empty but for its id.
func presenceOf(tx *database.Tx, agent string) (agents.Presence, error) {
	presences, err := agents.LoadPresences(tx, []string{agent})
	presence := presences[agent]
	presence.AgentID = agent
	return presence, err
}

// role returns the role that the agent holds, or "".
func (s inboxState) role() string {
	if s.presence.HoldsRole(s.presence.RoleID) {
		return s.presence.RoleID
	}
	return ""
}

// names returns the addresses under which messages are sent to the agent.
func (s inboxState) names() []string {
	names := []string{s.presence.AgentID}
	if role := s.role(); role != "" {
		names = append(names, caller.RolePrefix+role)
	}
	return names
}

// maxProbes bounds in how many intents a look probes for messages. Beyond that, the inbox may differ.
const maxProbes = 64

// mayDiffer tells whether an inbox that was empty in one state may hold something in a later one. It may when rules
// changed, when a log went back (because the database lost commits), or when a message was stored that is addressed to the
// agent or to everyone. So messages between others cost a call that waits no more than this question.
func (s inboxState) mayDiffer(tx *database.Tx, later inboxState) (bool, error) {
	if s.presence != later.presence {
		return true, nil
	}
	found := false
	var statements []database.Statement
	for intentNo, now := range later.intents {
		before, known := s.intents[intentNo]
		grown := intentState{before.epoch, now.lastPosition, before.sent, before.listedAt}
		if !known || now.lastPosition < before.lastPosition || now != grown || len(statements) > maxProbes {
			return true, nil
		}
		if now != before {
			statements = append(statements, addressedAfter(tx, intentNo, before.lastPosition, later.names(), &found))
		}
	}
	err := tx.Pipeline(statements...)
	return found, err
}

// addressedAfter returns the statement that tells whether a message after a position is for one of the names or for
// everyone.
func addressedAfter(tx *database.Tx, intentNo, after int64, names []string, found *bool) database.Statement {
	in, argument := tx.In("target", names)
	return database.Statement{
		SQL: "SELECT 1 FROM messages WHERE intent_no = ? AND position > ? AND sender <> ?" +
			" AND (target IS NULL OR target = '*' OR " + in + ") LIMIT 1",
		Args: []any{intentNo, after, names[0], argument},
		Scan: func(row database.Row) error {
			var one int64
			*found = true
			return row.Scan(&one)
		},
	}
}
