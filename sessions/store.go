package sessions

import (
	"encoding/hex"
	"time"

	"openintent/internal/database"
)

// idOf returns the id of the session of a cookie.
func idOf(cookie string) string {
	digest := digestOf(cookie)
	return hex.EncodeToString(digest[:])
}

// insert stores a session.
func insert(tx *database.Tx, s *Session) error {
	return tx.Pipeline(database.Statement{
		SQL: "INSERT INTO console_sessions (session_id, secret_digest, code_until, key_id, key_check, agent_id, human, created_at, used_at)" +
			" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
		Args: []any{
			s.ID, s.secret[:], database.NullMicros(s.codeUntil), s.KeyID, s.check, s.Agent, s.Human,
			database.Micros(s.createdAt), database.Micros(s.usedAt),
		},
	})
}

// find reads a session by its id; nil if there is none.
func find(tx *database.Tx, id string) (found *Session, err error) {
	err = tx.Pipeline(database.Statement{
		SQL: "SELECT s.secret_digest, s.code_until, s.key_id, s.key_check, s.agent_id, s.human, s.created_at, s.used_at," +
			" t.issuer, t.subject, t.agents, t.roles, t.accepted_until, t.refresh_token" +
			" FROM console_sessions s LEFT JOIN console_tokens t ON t.session_id = s.session_id WHERE s.session_id = ?",
		Args: []any{id},
		Scan: func(row database.Row) (err error) {
			s, token := &Session{ID: id}, new(tokenRow)
			var secret []byte
			var codeUntil *int64
			var createdAt, usedAt int64
			if err := row.Scan(&secret, &codeUntil, &s.KeyID, &s.check, &s.Agent, &s.Human, &createdAt, &usedAt,
				&token.issuer, &token.subject, &token.agents, &token.roles, &token.acceptedUntil, &token.refresh); err != nil {
				return err
			}
			copy(s.secret[:], secret)
			s.codeUntil, s.createdAt, s.usedAt = database.TimeOrZero(codeUntil), database.Time(createdAt), database.Time(usedAt)
			found = s
			s.Token, err = token.token()
			return err
		},
	})
	return found, err
}

// remove removes sessions with everything of theirs.
func remove(tx *database.Tx, ids []string) error {
	in, list := tx.In("session_id", ids)
	return tx.Pipeline(
		database.Statement{SQL: "DELETE FROM console_tokens WHERE " + in, Args: []any{list}},
		database.Statement{SQL: "DELETE FROM console_sessions WHERE " + in, Args: []any{list}},
	)
}

// makeRoom ends sessions of a key, so that it has one fewer than it may: the oldest of the agent that has most of them. So somebody who signs in
// again and again with an invite ends the sessions of no other guest.
func makeRoom(tx *database.Tx, keyID string, most int) error {
	var held int64
	err := tx.Pipeline(database.ReadValue(&held, "SELECT count(*) FROM console_sessions WHERE key_id = ?", keyID))
	if err != nil || held < int64(most) {
		return err
	}
	var oldest []string
	err = tx.Pipeline(database.ReadValues(&oldest,
		"SELECT session_id FROM (SELECT session_id, created_at, count(*) OVER (PARTITION BY agent_id) AS most"+
			" FROM console_sessions WHERE key_id = ?) AS held ORDER BY most DESC, created_at LIMIT ?", keyID, held-int64(most)+1))
	if err != nil {
		return err
	}
	return remove(tx, oldest)
}

// ended returns some of the sessions that are over.
func ended(tx *database.Tx, now time.Time, limit int) (ids []string, err error) {
	at := database.Micros(now)
	err = tx.Pipeline(
		database.ReadValues(&ids, "SELECT session_id FROM console_sessions WHERE used_at <= ? LIMIT ?", at-idleFor.Microseconds(), limit),
		database.ReadValues(&ids, "SELECT session_id FROM console_sessions WHERE created_at <= ? LIMIT ?", at-LastsFor.Microseconds(), limit),
	)
	return ids, err
}
