package messaging

import (
	"openintent/agents"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/reading"
)

const (
	// maxProbes bounds in how many intents a reading finds out whether what has happened concerns the agent. Otherwise it may.
	maxProbes = 64
	// quietSpan is how far a log may grow by what others say to each other until the watches are told. So a watch never has to read much
	// of that at a time.
	quietSpan = 128
)

// news is what has happened in an intent since it was last read.
type news struct {
	// addressed is true when a message was stored that is for the agent or for everyone. concerns is true when another entry was stored
	// that may be among what reaches the agent: its own message, an assignment, or an annotation.
	addressed, concerns bool
}

// laterState is an intent as it is read after another time.
type laterState struct {
	intentState
	news
	// ruling is read anew if part is set.
	part *reading.Catchment
}

// prepareLater returns how an intent is now, and the statements that find out more. reached is true when the intent has begun to reach the
// agent in some way. They do not find out what the news is if it may be anything.
func (k *keptCatchment) prepareLater(
	tx *database.Tx, before intentState, state intents.State, reached, anything bool,
) (now *laterState, statements []database.Statement) {
	now = &laterState{intentState: before}
	now.lastPosition, now.lastAt, now.epoch = state.LastPosition, state.LastAt, state.Epoch
	grown := now.lastPosition > before.lastPosition
	if reached || now.epoch != before.epoch || grown && !before.sent { // with its first message the agent begins to take part
		part, read := reading.PrepareCatchmentIn(state.IntentNo, k.agent)
		now.part, statements = &part, read
	}
	switch {
	case !grown:
	case anything:
		now.addressed = true
	default:
		after := before.lastPosition
		statements = append(statements, addressedAfter(tx, state.IntentNo, after, namesOf(k.presence), &now.addressed),
			concerningAfter(state.IntentNo, after, k.agent, &now.concerns))
	}
	return now, statements
}

// learn takes what the statements have read.
func (s *laterState) learn(intentNo int64) {
	if s.part != nil {
		s.sent, s.listedAt = s.part.Spoken[intentNo], database.MicrosOrZero(s.part.Listed[intentNo])
	}
}

// namesOf returns the addresses under which messages are sent to an agent, its own first.
func namesOf(presence agents.Presence) []string {
	names := []string{presence.AgentID}
	if role := presence.Role(); role != "" {
		names = append(names, caller.RolePrefix+role)
	}
	return names
}

// addressedAfter returns the statement that tells whether a message after a position is for one of the names or for
// everyone.
func addressedAfter(tx *database.Tx, intentNo, after int64, names []string, found *bool) database.Statement {
	in, argument := tx.In("target", names)
	return database.Statement{
		SQL: "SELECT 1 FROM messages WHERE intent_no = ? AND position > ? AND sender <> ?" +
			" AND (target IS NULL OR target = '*' OR " + in + ") LIMIT 1",
		Args: []any{intentNo, after, names[0], argument},
		Scan: scanFound(found),
	}
}

// concerningAfter returns the statement that tells whether there is an entry after a position that may reach an agent without being
// addressed to it.
func concerningAfter(intentNo, after int64, agent string, found *bool) database.Statement {
	return database.Statement{
		SQL: "SELECT 1 WHERE EXISTS (SELECT 1 FROM messages WHERE intent_no = ? AND position > ? AND sender = ?)" +
			" OR EXISTS (SELECT 1 FROM events WHERE intent_no = ? AND position > ? AND event_type IN ('agent_assigned', 'agent_unassigned'))" +
			" OR EXISTS (SELECT 1 FROM annotations WHERE intent_no = ? AND position > ?)",
		Args: []any{intentNo, after, agent, intentNo, after, intentNo, after},
		Scan: scanFound(found),
	}
}

func scanFound(found *bool) func(database.Row) error {
	return func(row database.Row) error {
		var one int64
		*found = true
		return row.Scan(&one)
	}
}
