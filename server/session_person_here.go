package server

import (
	"crypto/sha256"
	"net/http"
)

// personHere is the name under which the person at this machine signs in, who has nothing but the development key. Whoever else comes
// with that key is an agent, so that people can be tried beside agents where nothing is configured.
const personHere = "you"

var developmentDigest = sha256.Sum256([]byte(DevelopmentKey))

// isPersonHere reports whether whoever signs in with a key is the person at this machine.
func (c *signingIn) isPersonHere(r *http.Request, key *apiKey, agent string) bool {
	return agent == personHere && key.digest == developmentDigest && c.acceptsPersonHere(r)
}

// acceptsPersonHere reports whether the person at this machine may sign in as such: the server has the development key, and only this
// machine reaches it.
func (c *signingIn) acceptsPersonHere(r *http.Request) bool {
	return c.loopback && thisMachine.MatchString(r.Host) && c.keys.find(DevelopmentKey) != nil
}
