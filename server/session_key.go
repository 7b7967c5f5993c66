package server

import (
	"context"
	"slices"

	"openintent/keys"
	"openintent/sessions"
)

// ofSession returns the key of a session as it is now, with what the session has in its place. It returns nil if the key is over, was
// changed so that the session's agent is none of its own, or has another secret than the one that the session began with.
func (k *Keys) ofSession(ctx context.Context, session *sessions.Session) (*apiKey, error) {
	key, err := k.credentialOf(ctx, session)
	if key == nil || err != nil {
		return nil, err
	}
	if key.bound && !slices.Contains(key.agents, session.Agent) || key.checkName(session.Agent) != nil {
		return nil, nil
	}
	held := *key
	held.session, held.human = session.ID, key.human || session.Human
	return &held, nil
}

// credentialOf returns the key of a session, or what counts as one, before it is compared with the session; nil if there is none.
func (k *Keys) credentialOf(ctx context.Context, session *sessions.Session) (*apiKey, error) {
	if session.Token != nil {
		return k.vouchedFor(ctx, session)
	}
	if key := k.configuredOf(session); key != nil {
		return key, nil
	}
	return k.stored.ofSession(ctx, session)
}

// configuredOf returns the configured key of a session, or nil.
func (k *Keys) configuredOf(session *sessions.Session) *apiKey {
	known := *k.known.Load()
	at := slices.IndexFunc(known, func(key apiKey) bool { return key.id == session.KeyID && session.BeganWith(key.digest) })
	if at < 0 {
		return nil
	}
	return &known[at]
}

// ofSession returns the key of the database that a session has, or nil.
func (s *storedKeys) ofSession(ctx context.Context, session *sessions.Session) (*apiKey, error) {
	if s == nil {
		return nil, nil
	}
	return s.seek(ctx, func() *apiKey { return s.heldBy(session) }, func() bool { return keys.IsID(session.KeyID) })
}

// heldBy returns the remembered key of a session, unless it has expired.
func (s *storedKeys) heldBy(session *sessions.Session) *apiKey {
	known := s.known.Load()
	if known == nil {
		return nil
	}
	for _, key := range known.ids[session.KeyID] {
		if session.BeganWith(key.digest) && !key.expired(s.now()) {
			return key
		}
	}
	return nil
}

// endEndedSessions ends the calls that last under sessions that have ended, here or at another server.
func (k *Keys) endEndedSessions(ctx context.Context) error {
	lasting := k.expiries.sessions()
	if len(lasting) == 0 {
		return nil
	}
	over, err := k.sessions.Over(ctx, lasting)
	if err == nil {
		k.expiries.endSessions(over...)
	}
	return err
}
