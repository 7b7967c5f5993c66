package sessions

import (
	"time"
)

const (
	// LastsFor is how long after its beginning a session ends.
	LastsFor = 7 * 24 * time.Hour
	// idleFor is how long after its last use it ends.
	idleFor = 12 * time.Hour
	// useNoted is how often the use of a session is noted at most.
	useNoted = time.Minute
)

// Session is somebody who is signed in.
type Session struct {
	// ID identifies the session on all servers and reveals nothing.
	ID string
	Holder
	// Token is what an identity provider has said of somebody; nil for the session of a key.
	Token *Token

	// shown is the cookie with which the session was found.
	shown             string
	secret            Digest
	check             []byte
	codeUntil         time.Time
	createdAt, usedAt time.Time
}

// Holder is whom a session stands for.
type Holder struct {
	// KeyID is the KeyID of its calls (caller.Caller).
	KeyID string
	// Agent is the one that acts; caller.Operator for the operator.
	Agent string
	// Human is true for a person.
	Human bool
}

// over reports whether the session has ended.
func (s *Session) over(now time.Time) bool {
	return !s.usedAt.Add(idleFor).After(now) || !s.createdAt.Add(LastsFor).After(now)
}

// BeganWith reports whether the session began with the secret of a key that has this digest.
func (s *Session) BeganWith(keyDigest Digest) bool {
	var began Digest
	return copy(began[:], s.check) == len(began) && began.is(checkOf(s.shown, keyDigest))
}

// checkOf is what the database keeps of the secret of the key with which a session began. It tells nothing of the secret to whoever does
// not have the cookie.
func checkOf(cookie string, keyDigest Digest) Digest {
	return digestOf("openintent session of a key\x00" + cookie + string(keyDigest[:]))
}
