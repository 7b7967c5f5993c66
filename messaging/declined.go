package messaging

import (
	"fmt"
	"strings"

	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/messaging/message"
	"openintent/messaging/wake"
)

// This file has what follows from a no: the signal with which an agent declines a request to it. It ends the wait of whoever asked that agent
// alone, and it ends nothing else: the agent may still answer. Of several who hold a role, each may say no, and the asker hears of that when
// nobody has answered.

// declined is the signal of a no.
const declined = "declined"

// refusal is the no of the one agent that was asked. Its note may be empty.
type refusal struct{ note string }

// prepareRefusal returns the statement that reads whether the addressee of a request has declined it, and where it puts that. A role has set no
// signals.
func prepareRefusal(messageID string, intentNo int64) (**refusal, database.Statement) {
	said := new(*refusal)
	return said, database.Statement{
		SQL: "SELECT r.note FROM messages m JOIN reactions r ON r.intent_no = m.intent_no AND r.message_position = m.position" +
			" AND r.agent_id = m.target AND r.signal = ? WHERE " + message.ByIDInIntent + " AND r.present",
		Args: []any{declined, messageID, intentNo},
		Scan: func(row database.Row) error {
			*said = new(refusal)
			return row.Scan(&(*said).note)
		},
	}
}

// refuse returns the error of an ask that got a no.
func (r *refusal) refuse(request *message.Message) error {
	refused := fault.New(fault.Conflict, "DECLINED", "%s has declined the request%s; it may still answer.", request.Target, r.inWords()).
		With("message_id", request.ID).With("to", request.Target)
	if r.note != "" {
		refused = refused.With("note", r.note)
	}
	return refused
}

func (r *refusal) inWords() string {
	if r.note == "" {
		return ""
	}
	return fmt.Sprintf(" (%q)", r.note)
}

// decline is the no of one of several who hold a role.
type decline struct {
	agent string
	refusal
}

// declines are those of a role that have said no: how many they are, and the first ones.
type declines struct {
	count int
	first []decline
}

// mostDeclines bounds how many of them the explanation of a silence names.
const mostDeclines = 5

// prepareDeclines returns the statement that reads who has declined a request, but for its asker, in the order in which they did.
func prepareDeclines(intentNo, position int64, asker string, found *declines) database.Statement {
	return database.Statement{
		SQL: "SELECT agent_id, note, count(*) OVER () FROM reactions WHERE intent_no = ? AND message_position = ? AND present AND signal = ?" +
			" AND agent_id <> ? ORDER BY position LIMIT ?",
		Args: []any{intentNo, position, declined, asker, mostDeclines},
		Scan: func(row database.Row) error {
			var one decline
			err := row.Scan(&one.agent, &one.note, &found.count)
			found.first = append(found.first, one)
			return err
		},
	}
}

// declinedCause returns why a role did not answer of which some have said no.
func (s silence) declinedCause() (cause, why string) {
	said := make([]string, len(s.declines.first))
	for i, one := range s.declines.first {
		said[i] = fmt.Sprintf("%s has declined it%s", one.agent, one.inWords())
	}
	if more := s.declines.count - len(said); more > 0 {
		said = append(said, fmt.Sprintf("and so did %d more", more))
	}
	why = strings.Join(said, ", ")
	if s.received > s.declines.count {
		return causeNotAnswered, fmt.Sprintf("%s received the request and did not answer; %s", agentsIn(s.received), why)
	}
	return causeDeclined, why
}

// heedsNo reports whether a no ends the wait for the answers. A call that returns answers alone could not say that it was a no.
func (q question) heedsNo(seen answers) bool { return q.explains && seen.refusal != nil }

// TellAsker wakes whoever waits for the answer to the message after the commit, because its addressee has declined it, or no longer does.
func (s *Sighting) TellAsker(signal string) {
	if m := s.Message; signal == declined && m.Type == message.TypeRequest && m.Target == s.Viewer.Agent {
		s.Tx.AfterCommit(func() { s.service.hub.WakeUp(wake.RequestTopic(m.ID)) })
	}
}
