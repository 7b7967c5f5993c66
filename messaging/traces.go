package messaging

import (
	"database/sql"
	"slices"
	"strings"

	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/claim"
	"openintent/messaging/message"
	"openintent/messaging/reaction"
)

// traces are what recipients have left behind of a message: receipts, answers, offers, dead letters, dispositions, reactions and claims.
// Each kind is read in the order of the recipients' names, and at most so many rows of it as rows says.
type traces struct {
	rows int
	// compared says which recipients are read: > those after a name, = the one with the name.
	compared string
	records  map[string]*record
	// through is the last name up to which every kind was read. It is empty when each kind was read to its end.
	through string
	// claims are those of the message. It has few.
	claims map[int64][]*claim.Claim
}

func newTraces(rows int) *traces {
	return &traces{rows: rows, compared: ">", records: make(map[string]*record)}
}

// tracesOfOne are the traces of one recipient.
func tracesOfOne() *traces { return &traces{rows: 2, compared: "=", records: make(map[string]*record)} }

// of returns an agent's record, and begins one at the agent's first trace.
func (t *traces) of(agent string) *record {
	if t.records[agent] == nil {
		t.records[agent] = &record{agent: agent}
	}
	return t.records[agent]
}

// statements returns the statements that read the traces of recipients whose names come after the given one, or of the one with the
// name.
func (t *traces) statements(tx *database.Tx, m *message.Message, name string) []database.Statement {
	place := []any{m.IntentNo, m.Position, name}
	statements := []database.Statement{
		t.timed("SELECT agent_id, read_at FROM receipts WHERE intent_no = ? AND position = ? AND agent_id "+t.compared+" ?"+
			" ORDER BY agent_id", place, func(r *record, at int64) { r.read = database.Time(at) }),
		t.answers(place),
		t.timed("SELECT agent_id, offered_at FROM offers WHERE intent_no = ? AND position = ? AND agent_id "+t.compared+" ?"+
			" ORDER BY agent_id", place, func(r *record, at int64) { r.offered = database.Time(at) }),
		t.kind("SELECT agent_id, dead_at, reason FROM dead_letters WHERE intent_no = ? AND position = ? AND agent_id "+t.compared+" ?"+
			" ORDER BY agent_id", place, func(row database.Row) (agent string, err error) {
			var reason string
			var at int64
			if err = row.Scan(&agent, &at, &reason); err == nil {
				one := t.of(agent)
				one.deadLettered, one.deadLetterReason = database.Time(at), reason
			}
			return agent, err
		}),
		t.dispositions(place), t.reactions(place),
	}
	var claims database.Statement
	t.claims, claims = claim.Prepare(tx, m.IntentNo, []int64{m.Position})
	statements = append(statements, claims)
	if message.ToEveryone(m.Target) {
		statements = append(statements, t.timed("SELECT agent_id, offered_at FROM channel_offers"+
			" WHERE intent_no = ? AND channel_no = ? AND ordinal >= ? AND agent_id "+t.compared+" ? ORDER BY agent_id",
			[]any{m.IntentNo, m.ChannelNo, m.Ordinal, name}, func(r *record, at int64) { r.offered = database.Time(at) }))
	}
	return statements
}

// answers reads when each recipient first answered, and when last.
func (t *traces) answers(place []any) database.Statement {
	return t.kind("SELECT sender, min(created_at), max(created_at) FROM messages WHERE intent_no = ? AND correlation_position = ?"+
		" AND sender "+t.compared+" ? GROUP BY sender ORDER BY sender", place, func(row database.Row) (agent string, err error) {
		var first, last int64
		if err = row.Scan(&agent, &first, &last); err == nil {
			one := t.of(agent)
			one.answered = database.Time(first)
			one.disposed(message.DispositionResponded, database.Time(last))
		}
		return agent, err
	})
}

// dispositions reads when the recipients' models saw the message, and what the recipients said that they did.
func (t *traces) dispositions(place []any) database.Statement {
	return t.kind("SELECT agent_id, surfaced_at, disposition, disposed_at FROM dispositions WHERE intent_no = ? AND position = ?"+
		" AND agent_id "+t.compared+" ? ORDER BY agent_id", place, func(row database.Row) (agent string, err error) {
		var word sql.NullString
		var surfacedAt, disposedAt sql.NullInt64
		if err = row.Scan(&agent, &surfacedAt, &word, &disposedAt); err != nil {
			return agent, err
		}
		one := t.of(agent)
		if surfacedAt.Valid {
			one.surfaced = database.Time(surfacedAt.Int64)
		}
		if word.Valid {
			one.disposed(word.String, database.Time(disposedAt.Int64))
		}
		return agent, nil
	})
}

// reactions reads of each agent the last reaction from which a disposition follows. The operator sees every message and may react to
// it without being a recipient, so its reaction alone makes no record.
func (t *traces) reactions(place []any) database.Statement {
	signals := reaction.Disposing()
	list := "('" + strings.Join(signals, "', '") + "')"
	return t.kind("SELECT agent_id, signal, created_at FROM reactions r WHERE intent_no = ? AND message_position = ?"+
		" AND agent_id "+t.compared+" ? AND present AND signal IN "+list+" AND NOT EXISTS (SELECT 1 FROM reactions l"+
		" WHERE l.intent_no = r.intent_no AND l.message_position = r.message_position AND l.agent_id = r.agent_id"+
		" AND l.present AND l.signal IN "+list+" AND l.position > r.position"+message.OneByOne+") ORDER BY agent_id",
		place, func(row database.Row) (agent string, err error) {
			var signal string
			var at int64
			err = row.Scan(&agent, &signal, &at)
			if err == nil && (agent != caller.Operator || t.records[agent] != nil) {
				t.of(agent).disposed(reaction.Disposition(signal), database.Time(at))
			}
			return agent, err
		})
}

// addClaims adds the claims that stand, of recipients whose names are wanted.
func (t *traces) addClaims(tx *database.Tx, of claim.Situation, name string) error {
	if err := claim.LoadPresences(tx, t.claims); err != nil {
		return err
	}
	for _, c := range of.Standing(t.claims[of.Message.Position]) {
		if t.compared == "=" && c.AgentID == name || t.compared == ">" && c.AgentID > name {
			t.of(c.AgentID).disposed(message.DispositionClaimed, database.Time(c.Fence))
		}
	}
	return nil
}

// timed reads a kind of trace that is a time.
func (t *traces) timed(sql string, arguments []any, set func(r *record, at int64)) database.Statement {
	return t.kind(sql, arguments, func(row database.Row) (agent string, err error) {
		var at int64
		if err = row.Scan(&agent, &at); err == nil {
			set(t.of(agent), at)
		}
		return agent, err
	})
}

// kind reads a kind of trace. When there may be more of it, it notes how far it came.
func (t *traces) kind(sql string, arguments []any, scan func(row database.Row) (agent string, err error)) database.Statement {
	read := 0
	return database.Statement{SQL: sql + " LIMIT ?", Args: append(slices.Clone(arguments), t.rows), Scan: func(row database.Row) error {
		agent, err := scan(row)
		if read++; read == t.rows && (t.through == "" || agent < t.through) {
			t.through = agent
		}
		return err
	}}
}
