package sessions

import (
	"context"
	"time"

	"openintent/internal/database"
)

// renewalFor is for how long one server alone may try to renew a session.
const renewalFor = 15 * time.Second

// Renewed is what an identity provider has said anew.
type Renewed struct {
	Token Token
	// Human and Refresh are as in Holder and Await.
	Human   bool
	Refresh string
}

// Renew asks the identity provider anew, through ask, about whom a session stands for, and stores what it says. If another server, or
// another call, is asking already or has asked meanwhile, Renew returns the session as it is now, or nil if it has ended. The context should
// not end meanwhile: a provider may accept only once what renews a session.
func (s *Service) Renew(
	ctx context.Context, session *Session, ask func(ctx context.Context, refresh string) (Renewed, error),
) (*Session, error) {
	ours, err := s.claim(ctx, session)
	switch {
	case err != nil:
		return nil, err
	case !ours:
		return s.again(ctx, session)
	}
	refresh, err := decrypt(session.shown, session.Token.refresh)
	if err != nil {
		return nil, err
	}
	said, err := ask(ctx, refresh)
	if err != nil {
		return nil, err
	}
	renewed := *session
	token := said.Token
	token.refresh = encrypt(session.shown, said.Refresh)
	renewed.Token, renewed.Human = &token, said.Human
	return &renewed, s.db.Write(ctx, func(tx *database.Tx) error {
		return tx.Pipeline(
			database.Statement{
				SQL: "UPDATE console_tokens SET agents = ?, roles = ?, accepted_until = ?, refresh_token = ?, renewing_at = 0 WHERE session_id = ?",
				Args: []any{
					listOf(token.Agents), listOf(token.Roles), database.Micros(token.Until), token.refresh, session.ID,
				},
			},
			database.Statement{SQL: "UPDATE console_sessions SET human = ? WHERE session_id = ?", Args: []any{said.Human, session.ID}},
		)
	})
}

// again reads a session again.
func (s *Service) again(ctx context.Context, session *Session) (*Session, error) {
	found, err := s.get(ctx, session.ID)
	if found != nil {
		found.shown = session.shown
	}
	return found, err
}

// claim lets one server ask at a time.
func (s *Service) claim(ctx context.Context, session *Session) (ours bool, err error) {
	var changed int64
	err = s.db.Write(ctx, func(tx *database.Tx) error {
		now := tx.Now()
		return tx.Pipeline(database.Statement{
			SQL: "UPDATE console_tokens SET renewing_at = ? WHERE session_id = ? AND accepted_until = ? AND renewing_at <= ?",
			Args: []any{
				database.Micros(now), session.ID, database.Micros(session.Token.Until), database.Micros(now.Add(-renewalFor)),
			},
			Affected: &changed,
		})
	})
	return changed == 1, err
}
