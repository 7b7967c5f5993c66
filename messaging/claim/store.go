package claim

import (
	"openintent/agents"
	"openintent/channels"
	"openintent/internal/database"
	"openintent/messaging/message"
)

const columns = `c.intent_no, c.channel_no, c.message_position, c.message_id, c.agent_id, c.fence, c.claim_key, c.expires_at, c.ended,
	c.due_at, c.epoch, EXISTS (SELECT 1 FROM messages a WHERE a.intent_no = c.intent_no
		AND a.correlation_position = c.message_position AND a.sender = c.agent_id` + message.OneByOne + `)`

func scan(row database.Row) (*Claim, error) {
	c := new(Claim)
	var expiresAt, dueAt int64
	err := row.Scan(&c.IntentNo, &c.ChannelNo, &c.MessagePosition, &c.MessageID, &c.AgentID, &c.Fence, &c.Key, &expiresAt,
		&c.Ended, &dueAt, &c.Epoch, &c.Answered)
	c.ExpiresAt, c.DueAt = database.Time(expiresAt), database.Time(dueAt)
	return c, err
}

// Of returns the claims of messages of an intent by the messages' positions, with the holders' presences, in the order of their
// fences. Among them are some that have ended: Place.Standing tells which have not.
func Of(tx *database.Tx, intentNo int64, positions ...int64) (map[int64][]*Claim, error) {
	claims, statement := Prepare(tx, intentNo, positions)
	if err := tx.Pipeline(statement); err != nil {
		return nil, err
	}
	return claims, LoadPresences(tx, claims)
}

// Prepare returns a statement that reads the claims of messages of an intent, without the holders' presences, and the map that it
// fills.
func Prepare(tx *database.Tx, intentNo int64, positions []int64) (map[int64][]*Claim, database.Statement) {
	claims := make(map[int64][]*Claim)
	in, argument := tx.In("c.message_position", positions)
	return claims, database.Statement{
		SQL:  "SELECT " + columns + " FROM claims c WHERE c.intent_no = ? AND " + in + " ORDER BY c.fence",
		Args: []any{intentNo, argument},
		Scan: func(row database.Row) error {
			c, err := scan(row)
			claims[c.MessagePosition] = append(claims[c.MessagePosition], c)
			return err
		},
	}
}

// At is where a message is.
type At struct{ IntentNo, Position int64 }

// PrepareAt is Prepare for messages of several intents.
func PrepareAt(tx *database.Tx, places ...At) (map[At][]*Claim, database.Statement) {
	claims := make(map[At][]*Claim)
	intentNos, positions := make([]int64, len(places)), make([]int64, len(places))
	for i, at := range places {
		intentNos[i], positions[i] = at.IntentNo, at.Position
	}
	in, arguments := tx.InRows(
		database.Column{Name: "c.intent_no", Values: intentNos}, database.Column{Name: "c.message_position", Values: positions})
	return claims, database.Statement{
		SQL:  "SELECT " + columns + " FROM claims c WHERE " + in + " ORDER BY c.fence",
		Args: arguments,
		Scan: func(row database.Row) error {
			c, err := scan(row)
			at := At{c.IntentNo, c.MessagePosition}
			claims[at] = append(claims[at], c)
			return err
		},
	}
}

// LoadPresences reads the presences of the holders of claims. Without claims it reads nothing.
func LoadPresences[K comparable](tx *database.Tx, claims map[K][]*Claim) error {
	var holders []string
	for _, some := range claims {
		for _, c := range some {
			holders = append(holders, c.AgentID)
		}
	}
	presences, err := agents.LoadPresences(tx, database.Distinct(holders))
	for _, some := range claims {
		for _, c := range some {
			c.Presence = presences[c.AgentID]
			c.Presence.AgentID = c.AgentID
		}
	}
	return err
}

// PrepareAnswerers returns a statement that reads which agents have answered a request, and the set that it fills.
func PrepareAnswerers(intentNo, position int64) (map[string]struct{}, database.Statement) {
	by := make(map[string]struct{})
	return by, database.Statement{
		SQL:  "SELECT DISTINCT sender FROM messages WHERE intent_no = ? AND correlation_position = ?",
		Args: []any{intentNo, position},
		Scan: func(row database.Row) error {
			var sender string
			err := row.Scan(&sender)
			by[sender] = struct{}{}
			return err
		},
	}
}

// Insert stores a new claim.
func Insert(tx *database.Tx, c *Claim) error {
	return tx.Pipeline(database.Statement{
		SQL: "INSERT INTO claims (intent_no, channel_no, message_position, message_id, agent_id, fence, claim_key, expires_at," +
			" ended, due_at, epoch) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		Args: []any{c.IntentNo, c.ChannelNo, c.MessagePosition, c.MessageID, c.AgentID, c.Fence, c.Key,
			database.Micros(c.ExpiresAt), string(c.Ended), database.Micros(c.DueAt), c.Epoch},
	})
}

// Save stores a claim's times, its ending and by what it was judged; nothing else of it can change.
func Save(tx *database.Tx, c *Claim) error {
	return tx.Pipeline(database.Statement{
		SQL: "UPDATE claims SET expires_at = ?, ended = ?, due_at = ?, epoch = ?" +
			" WHERE intent_no = ? AND message_position = ? AND agent_id = ?",
		Args: []any{database.Micros(c.ExpiresAt), string(c.Ended), database.Micros(c.DueAt), c.Epoch,
			c.IntentNo, c.MessagePosition, c.AgentID},
	})
}

// Deletion returns the statement that removes a claim.
func Deletion(c *Claim) database.Statement {
	return database.Statement{
		SQL:  "DELETE FROM claims WHERE intent_no = ? AND message_position = ? AND agent_id = ? AND fence = ?",
		Args: []any{c.IntentNo, c.MessagePosition, c.AgentID, c.Fence},
	}
}

// DeletionWith returns the statement that removes what is kept of the claims on messages that are removed. A claim that stands
// on a thread outlives the thread's first message.
func DeletionWith(tx *database.Tx, intentNo int64, positions []int64) database.Statement {
	in, argument := tx.In("message_position", positions)
	return database.Statement{
		SQL:  "DELETE FROM claims WHERE intent_no = ? AND ended <> '' AND " + in,
		Args: []any{intentNo, argument},
	}
}

// CountHeld counts the claims of an agent in an intent that stand, as far as the store knows.
func CountHeld(tx *database.Tx, intentNo int64, agentID string) (count int64, err error) {
	err = tx.Pipeline(database.ReadValue(&count,
		"SELECT count(*) FROM claims WHERE agent_id = ? AND intent_no = ? AND ended = ''", agentID, intentNo))
	return count, err
}

// DeletionIn returns the statement that removes the claims on all messages of a channel.
func DeletionIn(key channels.Key) database.Statement {
	return database.Statement{
		SQL:  "DELETE FROM claims WHERE intent_no = ? AND channel_no = ?",
		Args: []any{key.IntentNo, key.ChannelNo},
	}
}
