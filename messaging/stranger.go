package messaging

import (
	"time"

	"openintent/agents"
	"openintent/intents"
	"openintent/internal/database"
	"openintent/messaging/message"
)

// This file holds the rule of who is a stranger to whom. A recipient is related to a sender that writes to it in an intent if one of these
// holds:
//
//   - it has that intent from somebody else than the sender: it made the intent, was assigned, was granted access, coordinates it, is a
//     member of a channel there, or has written there, and the sender did none of this for it;
//   - another intent ties both, and neither has that from the sender. That the sender made an intent, or writes in one that is open to
//     everyone, ties nobody to it;
//   - the recipient has written to the sender.

// bond is what is known of a recipient and a sender in one intent.
type bond struct {
	rules *intents.Rules
	// spoke is true when the recipient has written there. listed and senderListed are true when a channel that others than the sender made
	// lists the recipient, and the sender.
	spoke, listed, senderListed bool
}

// own reports whether the recipient has the intent from somebody else than the doers, who are the sender and its key's other names.
func (b bond) own(recipient string, doers []string, now time.Time) bool {
	return b.spoke || b.listed || b.rules.TiedWithout(recipient, doers, now)
}

// ties reports whether the intent ties the recipient and the sender, and neither has it from the sender.
func (b bond) ties(recipient, sender string, doers []string, now time.Time) bool {
	return (b.senderListed || b.rules.TiedWithout(sender, doers, now)) && b.own(recipient, doers, now)
}

// These bound what a look reads to find a relation. What lies beyond counts as none.
const (
	maxBonds      = 256
	maxRecipients = 8 // holders of an addressed role
	// wroteIntents and wroteMessages are the intents, and the newest messages of each, in which a message of the recipient to the sender is
	// looked for.
	wroteIntents  = 10
	wroteMessages = 5_000
)

// lookAtPile reports whether the recipient is related to the sender. If not, it counts what waits of the senders.
func (s *Service) lookAtPile(tx *database.Tx, q pileQuestion) (answer pileAnswer, err error) {
	recipients := []string{q.recipient}
	if role := message.RoleOf(q.recipient); role != "" {
		if recipients, err = holders(tx, role); err != nil {
			return answer, err
		}
	}
	for _, recipient := range recipients {
		if answer.related, err = s.related(tx, recipient, q); err != nil || answer.related {
			return answer, err
		}
	}
	answer.unread, err = countPile(tx, q)
	return answer, err
}

// holders returns some of those who hold a role.
func holders(tx *database.Tx, role string) (found []string, err error) {
	statement, presences := agents.PrepareHolders(role)
	if err := tx.Pipeline(statement); err != nil {
		return nil, err
	}
	for agent := range presences {
		if found = append(found, agent); len(found) == maxRecipients {
			break
		}
	}
	return found, nil
}

// related reports whether a recipient is related to the sender.
func (s *Service) related(tx *database.Tx, recipient string, q pileQuestion) (bool, error) {
	bonds, err := s.bonds(tx, recipient, q)
	if err != nil {
		return false, err
	}
	now := tx.Now()
	for intentNo, b := range bonds {
		if intentNo == q.intentNo && b.own(recipient, q.doers, now) || b.ties(recipient, q.sender, q.doers, now) {
			return true, nil
		}
	}
	return hasWritten(tx, recipient, q.sender)
}

// bonds reads what is known of both in the intent of the message, and in others that may tie them.
func (s *Service) bonds(tx *database.Tx, recipient string, q pileQuestion) (map[int64]bond, error) {
	bonds := make(map[int64]bond)
	var intentNos []int64
	doing, doers := tx.In("c.created_by", q.doers)
	// A deleted channel has no members any more.
	listed := "EXISTS (SELECT 1 FROM members b JOIN channels c ON c.intent_no = b.intent_no AND c.channel_no = b.channel_no" +
		" WHERE b.agent_id = ? AND b.intent_no = j.intent_no AND NOT (" + doing + "))"
	const tied = "EXISTS (SELECT 1 FROM intents i WHERE i.intent_no = j.intent_no AND i.created_by = ?)" +
		" OR EXISTS (SELECT 1 FROM assignments a WHERE a.intent_no = j.intent_no AND a.agent_id = ?)" +
		" OR EXISTS (SELECT 1 FROM access_entries x WHERE x.intent_no = j.intent_no AND x.principal_id = ?)" +
		" OR EXISTS (SELECT 1 FROM coordinators k WHERE k.intent_no = j.intent_no AND k.agent_id = ?)" +
		" OR EXISTS (SELECT 1 FROM members b WHERE b.intent_no = j.intent_no AND b.agent_id = ?)" +
		" OR EXISTS (SELECT 1 FROM audiences u WHERE u.intent_no = j.intent_no AND u.name = ? AND u.sent)"
	err := tx.Pipeline(database.Statement{
		SQL: "SELECT j.intent_no, EXISTS (SELECT 1 FROM audiences u WHERE u.name = ? AND u.intent_no = j.intent_no AND u.sent), " +
			listed + ", " + listed +
			" FROM (SELECT intent_no FROM intents WHERE intent_no = ? UNION SELECT intent_no FROM assignments WHERE agent_id = ?" +
			" UNION SELECT intent_no FROM access_entries WHERE principal_id = ? UNION SELECT intent_no FROM coordinators WHERE agent_id = ?" +
			" UNION SELECT intent_no FROM members WHERE agent_id = ?) AS j" +
			" WHERE j.intent_no = ? OR " + tied +
			" ORDER BY CASE WHEN j.intent_no = ? THEN 0 ELSE 1 END, j.intent_no DESC LIMIT ?",
		Args: []any{
			recipient, recipient, doers, q.sender, doers, q.intentNo, q.sender, q.sender, q.sender, q.sender,
			q.intentNo, recipient, recipient, recipient, recipient, recipient, recipient, q.intentNo, maxBonds,
		},
		Scan: func(row database.Row) error {
			var intentNo int64
			var b bond
			err := row.Scan(&intentNo, &b.spoke, &b.listed, &b.senderListed)
			bonds[intentNo], intentNos = b, append(intentNos, intentNo)
			return err
		},
	})
	if err != nil {
		return nil, err
	}
	statement, heads := intents.PrepareHeads(tx, intentNos)
	if err := tx.Pipeline(statement); err != nil {
		return nil, err
	}
	rules, err := s.intents.AllRules(tx, heads())
	for intentNo, b := range bonds {
		if b.rules = rules[intentNo]; b.rules == nil {
			delete(bonds, intentNo)
			continue
		}
		bonds[intentNo] = b
	}
	return bonds, err
}

// hasWritten reports whether an agent has lately written to another one.
func hasWritten(tx *database.Tx, agent, to string) (bool, error) {
	var intentNos []int64
	err := tx.Pipeline(database.ReadValues(&intentNos, "SELECT u.intent_no FROM audiences u"+
		" JOIN audiences a ON a.intent_no = u.intent_no AND a.name = ? AND NOT a.sent"+
		" WHERE u.name = ? AND u.sent ORDER BY u.intent_no DESC LIMIT ?", to, agent, wroteIntents))
	if err != nil {
		return false, err
	}
	for _, intentNo := range intentNos {
		var one int64
		err := tx.Pipeline(database.ReadValue(&one, "SELECT 1 FROM (SELECT m.sender, m.target FROM messages m WHERE m.intent_no = ?"+
			" ORDER BY m.position DESC LIMIT ?) AS newest WHERE sender = ? AND target = ? LIMIT 1", intentNo, wroteMessages, agent, to))
		if err != nil || one == 1 {
			return one == 1, err
		}
	}
	return false, nil
}

// countPile counts the messages of the senders to the recipient that wait, at most one more than the limit. It leaves out intents that the
// recipient made, or in which it has written.
func countPile(tx *database.Tx, q pileQuestion) (count int, err error) {
	inNames, names := tx.In("u.name", q.names)
	inSenders, senders := tx.In("m.sender", q.names)
	var unread int64
	err = tx.Pipeline(database.ReadValue(&unread, "SELECT COUNT(*) FROM (SELECT 1 FROM messages m"+
		" JOIN channel_heads k ON k.intent_no = m.intent_no AND k.channel_no = m.channel_no"+
		" WHERE m.intent_no IN (SELECT a.intent_no FROM audiences a WHERE a.name = ? AND NOT a.sent"+
		" AND EXISTS (SELECT 1 FROM audiences u WHERE u.intent_no = a.intent_no AND "+inNames+" AND u.sent)"+
		" AND NOT EXISTS (SELECT 1 FROM audiences o WHERE o.intent_no = a.intent_no AND o.name = ? AND o.sent)"+
		" AND NOT EXISTS (SELECT 1 FROM intents i WHERE i.intent_no = a.intent_no AND i.created_by = ?))"+
		" AND m.target = ? AND "+inSenders+" AND m.message_type <> 'response' AND m.read_at IS NULL AND m.ended_at IS NULL"+
		" AND (m.expires_at IS NULL OR m.expires_at > ?) AND m.ordinal > k.floor"+
		" AND NOT EXISTS (SELECT 1 FROM dispositions x WHERE x.intent_no = m.intent_no AND x.position = m.position"+
		" AND x.surfaced_at IS NOT NULL)"+
		" AND (m.message_type <> 'request' OR EXISTS (SELECT 1 FROM open_requests r WHERE r.intent_no = m.intent_no AND r.position = m.position))"+
		" LIMIT ?) AS waiting",
		q.recipient, names, q.recipient, q.recipient, q.recipient, senders, database.Micros(tx.Now()), q.limit+1))
	return int(unread), err
}
