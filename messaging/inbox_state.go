package messaging

import (
	"time"

	"openintent/agents"
	"openintent/caller"
	"openintent/database"
	"openintent/intents"
	"openintent/messaging/message"
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

// candidates is a statement for messages that may wait for an agent, without their content, and the slice that it fills.
type candidates struct {
	statement database.Statement
	messages  *[]*message.Message
}

// candidates completes a query whose WHERE clause narrows down messages m. It adds the messages' place, which comes after
// the given one, and the inbox's order.
func (r *inboxReader) candidates(from, condition string, arguments []any, after inboxPlace, limit int) candidates {
	found := new([]*message.Message)
	arguments = message.ViewedBy(r.agent, append(arguments, after.createdAt, after.intentNo, after.position, limit)...)
	return candidates{messages: found, statement: database.Statement{
		SQL: "SELECT " + message.FactColumns + " FROM " + from + " WHERE " + condition +
			" AND (m.created_at, m.intent_no, m.position) > (?, ?, ?) ORDER BY m.created_at, m.intent_no, m.position LIMIT ?",
		Args: arguments,
		Scan: func(row database.Row) error {
			m, err := message.ScanFacts(row)
			*found = append(*found, m)
			return err
		},
	}}
}

// openRequests finds the requests to the agent that nobody has answered.
func (r *inboxReader) openRequests(after inboxPlace, limit int) candidates {
	in, names := r.Tx.In("q.target", r.names)
	// The subquery cuts the page before the messages are read, by all that decides the page, so that no more messages are
	// read than it holds. No plan can begin with the messages, however many of all requests are the agent's.
	return r.candidates("(SELECT q.intent_no, q.position FROM open_requests q WHERE "+in+
		" AND (q.expires_at IS NULL OR q.expires_at > ?) AND (q.created_at, q.intent_no, q.position) > (?, ?, ?)"+
		" ORDER BY q.created_at, q.intent_no, q.position LIMIT ?) AS q"+
		" JOIN messages m ON m.intent_no = q.intent_no AND m.position = q.position", "1 = 1",
		[]any{names, r.now(), after.createdAt, after.intentNo, after.position, limit}, after, limit)
}

// unreadMessages finds the other messages that are kept, that the agent may receive and that it has not read.
func (r *inboxReader) unreadMessages(after inboxPlace, limit int) candidates {
	var readable, part []int64
	for intentNo, takesPart := range r.part {
		readable = append(readable, intentNo)
		if takesPart {
			part = append(part, intentNo)
		}
	}
	inReadable, intentNos := r.Tx.In("m.intent_no", database.Distinct(readable))
	inReadableToo, _ := r.Tx.In("c.intent_no", database.Distinct(readable)) // a plan that begins with the channels begins with these
	inPart, partNos := r.Tx.In("m.intent_no", database.Distinct(part))
	addressed, addresses := r.addressed()
	condition := inReadable + " AND " + inReadableToo + " AND m.message_type <> 'request' AND m.sender <> ?" +
		" AND (" + addressed + " OR (m.target IS NULL OR m.target = '*') AND " + inPart + ")" +
		" AND m.ended_at IS NULL AND (m.expires_at IS NULL OR m.expires_at > ?)" +
		" AND m.ordinal > k.floor AND c.deleted_at IS NULL" +
		" AND NOT EXISTS (SELECT 1 FROM receipts x" +
		" WHERE x.intent_no = m.intent_no AND x.position = m.position AND x.agent_id = ?)"
	arguments := append([]any{intentNos, intentNos, r.agent}, append(addresses, partNos, r.now(), r.agent)...)
	if !r.operator() {
		condition += " AND (c.policy = 'intent' OR EXISTS (SELECT 1 FROM members b" +
			" WHERE b.intent_no = m.intent_no AND b.channel_no = m.channel_no AND b.agent_id = ?" + message.OneByOne + "))"
		arguments = append(arguments, r.agent)
	}
	return r.candidates("messages m"+
		" JOIN channels c ON c.intent_no = m.intent_no AND c.channel_no = m.channel_no"+
		" JOIN channel_heads k ON k.intent_no = m.intent_no AND k.channel_no = m.channel_no",
		condition, arguments, after, limit)
}

// addressed says in SQL which messages, other than requests, are sent to the agent or, since it holds its role, to the
// role.
func (r *inboxReader) addressed() (condition string, arguments []any) {
	condition, arguments = "m.target = ?", []any{r.agent}
	for _, role := range r.names[1:] {
		condition += " OR m.target = ? AND m.created_at > ?"
		arguments = append(arguments, role, database.Micros(r.Presences[r.agent].RoleSince))
	}
	return condition, arguments
}

// now is the earliest of the times by which the intents' messages are judged.
func (r *inboxReader) now() int64 { return database.Micros(r.Tx.Now()) }

// contents returns the statement that reads messages whole, in the inbox's order.
func (r *inboxReader) contents(whole *reading.MessagePage, wanted []*message.Message) database.Statement {
	n := len(wanted)
	intentNos, positions := make([]int64, n), make([]int64, n)
	for i, m := range wanted {
		intentNos[i], positions[i] = m.IntentNo, m.Position
	}
	in, rows := r.Tx.InRows(
		database.Column{Name: "m.intent_no", Values: intentNos}, database.Column{Name: "m.position", Values: positions})
	return database.Statement{
		SQL: "SELECT " + message.Columns + " FROM messages m WHERE " + in +
			" ORDER BY m.created_at, m.intent_no, m.position",
		Args: message.ViewedBy(r.agent, rows...),
		Scan: whole.Scan,
	}
}
