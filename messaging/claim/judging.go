package claim

import (
	"strconv"

	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/message"
)

// These bound what one run of the sweep costs, however many claims there are.
const (
	lookedAt = 5000
	judged   = 500
)

// Suspect is a message with claims that may have ended.
type Suspect struct{ IntentNo, ChannelNo, MessagePosition int64 }

// Round says how far the sweep has come among the claims that stand. The zero Round begins with the first one.
type Round struct {
	intentNo, position int64
	agentID            string
}

// ToJudge reads messages with claims that somebody has to judge, and says where the next run goes on. An index finds those that time
// may have ended. For the others it looks at the next claims that stand, a few thousand in each turn: whose holder has left, is dead,
// has another role or has answered, whose request has ended, or whose intent's rules have changed since somebody judged them.
func ToJudge(tx *database.Tx, from Round) (suspects []Suspect, next Round, err error) {
	return toJudge(tx, from, lookedAt, judged)
}

// These say what a row of the statement is.
const (
	dueRow = iota
	changedRow
	lastRow // the last claim that the statement looked at
)

func toJudge(tx *database.Tx, from Round, looked, limit int) (suspects []Suspect, next Round, err error) {
	known, changed := make(map[Suspect]struct{}), 0
	statement := judging(from, database.Micros(tx.Now()), looked, limit)
	statement.Scan = func(row database.Row) error {
		var what int
		var s Suspect
		var at Round
		err := row.Scan(&what, &at.intentNo, &s.ChannelNo, &at.position, &at.agentID)
		s.IntentNo, s.MessagePosition = at.intentNo, at.position
		switch {
		case what == changedRow:
			if changed++; changed == limit {
				next = at
			}
		case what == lastRow && changed < limit:
			next = at
			return err
		case what == lastRow:
			return err
		}
		if _, again := known[s]; !again {
			known[s] = struct{}{}
			suspects = append(suspects, s)
		}
		return err
	}
	err = tx.Pipeline(statement)
	return suspects, next, err
}

// judging returns the statement that looks for claims to judge. The numbers of rows are part of its text, because PostgreSQL plans a
// statement before it knows the arguments.
func judging(from Round, now int64, looked, limit int) database.Statement {
	const page = ` WHERE ended = '' AND (intent_no, message_position, agent_id) > (?, ?, ?)
		ORDER BY intent_no, message_position, agent_id LIMIT `
	atMost := strconv.Itoa(limit)
	return database.Statement{
		SQL: `SELECT 0, intent_no, channel_no, message_position, agent_id FROM
			(SELECT * FROM claims WHERE due_at <= ? ORDER BY due_at LIMIT ` + atMost + `) AS due
		UNION ALL SELECT 1, intent_no, channel_no, message_position, agent_id FROM
			(SELECT c.* FROM (SELECT * FROM claims` + page + strconv.Itoa(looked) + `) AS c
			JOIN intent_heads h ON h.intent_no = c.intent_no
			LEFT JOIN agents g ON g.agent_id = c.agent_id
			LEFT JOIN messages m ON m.intent_no = c.intent_no AND m.position = c.message_position
			WHERE h.epoch <> c.epoch OR g.status IN ('dead', 'deregistered') OR g.departed_at > c.fence
				OR m.target LIKE 'role:%' AND m.target <> 'role:' || COALESCE(g.role_id, '') AND c.agent_id <> ?
				OR m.message_type = 'request' AND (m.ended_at IS NOT NULL OR m.expires_at <= ? OR EXISTS (SELECT 1 FROM messages a
					WHERE a.intent_no = c.intent_no AND a.correlation_position = c.message_position
					AND a.sender = c.agent_id` + message.OneByOne + `))
			ORDER BY c.intent_no, c.message_position, c.agent_id LIMIT ` + atMost + `) AS changed
		UNION ALL SELECT 2, intent_no, channel_no, message_position, agent_id FROM
			(SELECT * FROM claims` + page + `1 OFFSET ` + strconv.Itoa(looked-1) + `) AS last
		ORDER BY 1, 2, 4, 5`,
		Args: []any{now, from.intentNo, from.position, from.agentID, caller.Operator, now, from.intentNo, from.position, from.agentID},
	}
}
