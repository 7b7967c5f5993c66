package server

import (
	"context"
	"errors"
	"time"

	"openintent/internal/fault"
	"openintent/internal/oidc"
	"openintent/sessions"
)

const (
	// renewBefore is how long before the end of what the identity provider has said the server asks it again.
	renewBefore = time.Minute
	// renewGrace is for how long calls go on after that end while another call asks.
	renewGrace = 15 * time.Second
)

// errSessionRenews ends what lasts under a session that its next call renews.
var errSessionRenews = fault.New(fault.Unavailable, "SESSION_RENEWS",
	"The console's session is to be renewed at the identity provider; connect again and go on.").After(time.Second)

// vouchedFor returns what an identity provider lets the holder of a session do. It asks the provider again when what it has said is about
// to end, and ends the session if the provider says no. It returns nil for a session that is over.
func (k *Keys) vouchedFor(ctx context.Context, session *sessions.Session) (*apiKey, error) {
	if k.tokens == nil || k.tokens.cfg.OIDCClientID == "" || session.Token.Issuer != k.tokens.cfg.OIDCIssuer {
		return nil, nil
	}
	now := k.tokens.now()
	if !session.Token.Renews() {
		if !session.Token.Until.After(now) {
			return nil, nil
		}
		return k.tokens.heldBy(session, session.Token.Until, errSessionEnded), nil
	}
	if now.After(session.Token.Until.Add(-renewBefore)) {
		renewed, err := k.renewOnce(ctx, session)
		switch {
		case errors.Is(err, errSessionEnded):
			return nil, k.sessions.End(ctx, session)
		case err == nil && renewed == nil:
			return nil, nil
		case err == nil:
			session = renewed
		case !session.Token.Until.After(now):
			return nil, err
		}
	}
	until := session.Token.Until.Add(renewGrace)
	if !until.After(now) {
		return nil, errSessionRenews // another server asks the provider
	}
	return k.tokens.heldBy(session, until, errSessionRenews), nil
}

// heldBy returns what counts as the key of a session, until a time.
func (t *tokens) heldBy(session *sessions.Session, until time.Time, over error) *apiKey {
	said := session.Token
	key := t.keyFor(said.Subject, keySettings{bound: true, agents: said.Agents, roles: said.Roles, human: session.Human})
	key.until, key.over = until, over
	return key
}

// renewOnce is renew, which all calls of a session share that need it at the same time. It goes on when a call ends.
func (k *Keys) renewOnce(ctx context.Context, session *sessions.Session) (*sessions.Session, error) {
	renewal := k.renewals.DoChan(session.ID, func() (any, error) { return k.renew(context.WithoutCancel(ctx), session) })
	select {
	case done := <-renewal:
		renewed, _ := done.Val.(*sessions.Session)
		return renewed, done.Err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// renew asks the identity provider again. It returns errSessionEnded if the provider says no, or if it lets the person act as nobody any
// more.
func (k *Keys) renew(ctx context.Context, session *sessions.Session) (*sessions.Session, error) {
	return k.sessions.Renew(ctx, session, func(ctx context.Context, refresh string) (renewed sessions.Renewed, _ error) {
		said, err := k.tokens.issuer.Renew(ctx, k.tokens.client(), refresh, session.Token.Subject)
		if errors.Is(err, oidc.ErrRefused) {
			return renewed, errSessionEnded.Because(err)
		}
		if err != nil {
			return renewed, err
		}
		renewed = sessions.Renewed{Token: *session.Token, Human: session.Human, Refresh: said.Refresh}
		renewed.Token.Until = said.Until
		if said.Token == nil {
			return renewed, nil
		}
		settings, err := k.tokens.settingsOf(said.Token)
		if err != nil {
			return renewed, errSessionEnded.Because(err)
		}
		renewed.Token.Agents, renewed.Token.Roles, renewed.Human = settings.agents, settings.roles, settings.human
		return renewed, nil
	})
}

// client is the server as a client of the issuer.
func (t *tokens) client() oidc.Client {
	return oidc.Client{ID: t.cfg.OIDCClientID, Secret: t.cfg.OIDCClientSecret, Scopes: t.cfg.oidcScopes()}
}
