package sessions

import (
	"context"
	"time"

	"openintent/internal/database"
)

// codeFor is for how long a page may take its session over.
const codeFor = 2 * time.Minute

// Handed is what a browser gets when somebody comes back from an identity provider.
type Handed struct {
	// Cookie is for the browser. Code is for the page, which gets its secret for it.
	Cookie, Code string
}

// Await stores a session of somebody for whom an identity provider vouches, until a page takes it over. The holder need not have an agent
// yet. refresh renews what the provider has said; empty if nothing does. The sessions of the cookies that the browser has had until now
// end.
func (s *Service) Await(ctx context.Context, holder Holder, token Token, refresh string, before []string) (Handed, error) {
	sealed, err := s.seal(ctx)
	if err != nil {
		return Handed{}, err
	}
	made := Handed{Cookie: sealed.newCookie(), Code: newSecret()}
	begun := &Session{ID: idOf(made.Cookie), Holder: holder, secret: digestOf(made.Code)}
	token.refresh = encrypt(made.Cookie, refresh)
	err = s.db.Write(ctx, func(tx *database.Tx) error {
		begun.codeUntil = tx.Now().Add(codeFor)
		if err := s.store(tx, begun, sealed.ofSigned(before)); err != nil {
			return err
		}
		return insertToken(tx, begun.ID, &token)
	})
	if err != nil {
		return Handed{}, err
	}
	return made, nil
}

// TakeOver gives a page the secret of the session of a cookie and a code, once. choose says as which agent the session acts. TakeOver
// returns nil if there is no such session, or if its code was used or is over.
func (s *Service) TakeOver(
	ctx context.Context, cookies []string, code string, choose func(*Session) (agent string, err error),
) (taken *Session, secret string, err error) {
	if !isSecret(code) {
		return nil, "", nil
	}
	found, err := s.look(ctx, cookies, code)
	if err != nil || found == nil || !found.codeUntil.After(s.db.Now()) {
		return nil, "", err
	}
	if found.Agent, err = choose(found); err != nil {
		return nil, "", err
	}
	secret = newSecret()
	digest, before := digestOf(secret), digestOf(code)
	var changed int64
	err = s.db.Write(ctx, func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{
			SQL: "UPDATE console_sessions SET secret_digest = ?, code_until = NULL, agent_id = ?" +
				" WHERE session_id = ? AND secret_digest = ? AND code_until IS NOT NULL",
			Args: []any{digest[:], found.Agent, found.ID, before[:]}, Affected: &changed,
		})
	})
	if err != nil || changed == 0 {
		return nil, "", err
	}
	return found, secret, nil
}
