package server

import (
	"context"
	"net/http"

	"google.golang.org/grpc/metadata"

	"openintent/internal/caller"
	"openintent/internal/fault"
	"openintent/sessions"
)

var (
	errSessionEnded = fault.New(fault.Unauthenticated, "SESSION_ENDED",
		"The console's session has ended, or its cookie and its secret do not belong together; sign in again.")
	errSessionAndKey = fault.New(fault.Unauthenticated, "SESSION_AND_KEY",
		"The call carries a session of the console and an API key; send one of them.")
	errSessionAgent = fault.New(fault.Denied, "AGENT_NOT_ALLOWED",
		"The console's session acts as another agent than the one in X-Agent-ID; leave the header out, or sign in as that agent.")
	errSessionPage = fault.New(fault.Denied, "ORIGIN_NOT_ALLOWED",
		"The console answers its own pages only, which come from the address that they call; open the console at that address.")
)

// signedIn is the session that a call has come in with.
type signedIn struct {
	session *sessions.Session
	key     *apiKey
}

type signedInKey struct{}

// signedInOf returns the session of a call; nil for a call without one.
func signedInOf(ctx context.Context) *signedIn {
	person, _ := ctx.Value(signedInKey{}).(*signedIn)
	return person
}

// acts returns the agent that a call under the session acts as; "" for the operator. The session of an unbound key may be the operator's
// for a call, too, because its key may.
func (p *signedIn) acts(md metadata.MD) (string, error) {
	agent := p.session.Agent
	switch named := md.Get("x-agent-id"); {
	case len(named) == 0:
	case len(named) == 1 && named[0] == caller.Operator && !p.key.bound:
		agent = caller.Operator
	case len(named) > 1 || named[0] != agent:
		return "", errSessionAgent
	}
	if agent == caller.Operator {
		return "", nil
	}
	return agent, nil
}

// enter gives a REST request the session whose cookie and secret it carries. A request without the secret has none, whatever cookies
// its browser sends.
func (c *signingIn) enter(r *http.Request) (*http.Request, error) {
	secret, shown := secretOf(r)
	if c == nil || !shown {
		return r, nil
	}
	if r.Header.Get("X-Api-Key") != "" || r.Header.Get("Authorization") != "" {
		return r, errSessionAndKey
	}
	person, err := c.find(r, secret)
	if err != nil {
		return r, err
	}
	return r.WithContext(context.WithValue(r.Context(), signedInKey{}, person)), nil
}

// find returns the session of a request, or refuses the request.
func (c *signingIn) find(r *http.Request, secret string) (*signedIn, error) {
	if err := c.checkPage(r); err != nil {
		return nil, err
	}
	session, err := c.keys.sessions.Find(r.Context(), cookiesOf(r), secret)
	if err != nil {
		return nil, err
	}
	if session == nil {
		return nil, errSessionEnded
	}
	key, err := c.keys.ofSession(r.Context(), session)
	if err != nil {
		return nil, err
	}
	if key == nil {
		return nil, errSessionEnded
	}
	return &signedIn{session, key}, nil
}

// checkPage refuses pages that are not the console's own, as far as the browser tells.
func (c *signingIn) checkPage(r *http.Request) error {
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		if site != "same-origin" {
			return errSessionPage
		}
	}
	for _, origin := range r.Header.Values("Origin") {
		if !sameOrigin(origin, r.Host, r.TLS != nil) && (origin != c.origin || origin == "") {
			return errSessionPage
		}
	}
	return nil
}
