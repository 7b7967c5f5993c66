package messaging

import (
	"openintent/database"
	"openintent/messaging/message"
	"openintent/messaging/reading"
)

// This file finds the messages that may wait for an agent.

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
