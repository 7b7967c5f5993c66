package sessions

import (
	"encoding/json"
	"time"

	"openintent/internal/database"
)

// Token is what an identity provider has said of somebody.
type Token struct {
	Issuer, Subject string
	// Agents and Roles are those that it lets its bearer act as and take.
	Agents, Roles []string
	// Until is when it no longer holds.
	Until time.Time

	// refresh renews it, encrypted with the session's cookie; nil if the provider gave nothing for that.
	refresh []byte
}

// Renews reports whether the provider can be asked again.
func (t *Token) Renews() bool { return t.refresh != nil }

// tokenRow is a token as the table has it, or nothing where a session has none.
type tokenRow struct {
	issuer, subject        *string
	agents, roles, refresh []byte
	acceptedUntil          *int64
}

func (r *tokenRow) token() (*Token, error) {
	if r.issuer == nil {
		return nil, nil
	}
	t := &Token{Issuer: *r.issuer, Subject: *r.subject, Until: database.Time(*r.acceptedUntil), refresh: r.refresh}
	if err := json.Unmarshal(r.agents, &t.Agents); err != nil {
		return nil, err
	}
	return t, json.Unmarshal(r.roles, &t.Roles)
}

// insertToken stores a token of a session.
func insertToken(tx *database.Tx, sessionID string, t *Token) error {
	return tx.Pipeline(database.Statement{
		SQL: "INSERT INTO console_tokens (session_id, issuer, subject, agents, roles, accepted_until, refresh_token, renewing_at)" +
			" VALUES (?, ?, ?, ?, ?, ?, ?, 0)",
		Args: []any{sessionID, t.Issuer, t.Subject, listOf(t.Agents), listOf(t.Roles), database.Micros(t.Until), t.refresh},
	})
}

// listOf returns a list of texts as the database has it.
func listOf(texts []string) []byte {
	if texts == nil {
		texts = []string{}
	}
	list, err := json.Marshal(texts)
	if err != nil {
		panic(err) // lists of texts always have a JSON form
	}
	return list
}
