package server

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"openintent/internal/caller"
	"openintent/internal/fault"
	"openintent/internal/oidc"
	"openintent/sessions"
)

const (
	// leavePath is where people leave for the identity provider, and returnPath where it leads them back to.
	leavePath, returnPath = "/console/sign-in", "/console/sign-in/callback"
	// attemptFor is how long somebody may take to sign in at the identity provider.
	attemptFor = 10 * time.Minute
	// secureAttempt and plainAttempt are as secureCookie and plainCookie, for what the browser keeps meanwhile. That lies under the path
	// of signing in, which the name of secureCookie does not allow.
	secureAttempt, plainAttempt = "__Secure-openintent_sign_in", "openintent_sign_in_"
	// mostReturns is how many people's returns are looked at simultaneously, and returnsPerSecond and returnsAtOnce pace them. Each asks the
	// identity provider, which might stop to answer a server that asks too often.
	mostReturns, returnsPerSecond, returnsAtOnce = 16, 20, 100
)

var (
	errNoProvider = fault.New(fault.NotFound, "SIGN_IN_UNAVAILABLE",
		"Nobody signs in by an identity provider here: the server is not its client, or does not know its own address; sign in with an API key.")
	errAttemptOver = fault.New(fault.Denied, "SIGN_IN_EXPIRED",
		"This way through the identity provider has not begun in this browser, is over or took longer than 10 minutes; begin again.")
	errManyReturns = fault.New(fault.Unavailable, "SIGN_IN_BUSY",
		"Too many people come back from the identity provider at the same time; try again in a moment.").After(time.Second)
	errCodeUsed = fault.New(fault.Unauthenticated, "CODE_UNKNOWN",
		"The code was used, is older than 2 minutes, or belongs to another browser; sign in again.")
)

// attempt is what a browser keeps of somebody's way through the identity provider.
type attempt struct {
	oidc.Attempt
	Began time.Time
}

// client returns the identity provider, if people can sign in there and come back to the address by which a request has come.
func (c *signingIn) client(r *http.Request) (provider *tokens, address string, err error) {
	provider = c.keys.tokens
	if provider == nil || provider.cfg.OIDCClientID == "" {
		return nil, "", errNoProvider
	}
	if address = ownAddress(c.public, c.loopback, r); address == "" {
		return nil, "", errNoProvider
	}
	return provider, address, nil
}

// leave leads somebody to the identity provider.
func (c *signingIn) leave(w http.ResponseWriter, r *http.Request) error {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return errSessionPage // a link elsewhere would replace the session that somebody has
	}
	provider, address, err := c.client(r)
	if err != nil {
		return err
	}
	begun := attempt{oidc.NewAttempt(address + returnPath), provider.now()}
	away, err := provider.issuer.Leave(r.Context(), provider.client(), begun.Attempt)
	if err != nil {
		return err
	}
	text, err := json.Marshal(begun)
	if err != nil {
		return err
	}
	kept, err := c.keys.sessions.Seal(r.Context(), leavePath, string(text))
	if err != nil {
		return err
	}
	http.SetCookie(w, c.attemptCookie(r, kept, int(attemptFor.Seconds())))
	http.Redirect(w, r, away, http.StatusFound)
	return nil
}

// comeBack takes somebody who comes back from the identity provider to the console, whose page then takes the session over. Whatever is
// wrong, the page says.
func (c *signingIn) comeBack(w http.ResponseWriter, r *http.Request) error {
	provider, address, err := c.client(r)
	if err != nil {
		return err
	}
	http.SetCookie(w, c.attemptCookie(r, "", -1)) // once
	fragment, err := c.handOver(w, r, provider)
	if err != nil {
		made := toStatus(err)
		c.gateway.note(r, made)
		c.logger.Info("somebody could not sign in by the identity provider", "error", err)
		fragment = url.Values{"refused": {reasonOf(made)}}
	}
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Location", address+"/console#"+fragment.Encode())
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// handOver stores the session of somebody who has come back, and returns what the page needs to take it over.
func (c *signingIn) handOver(w http.ResponseWriter, r *http.Request, provider *tokens) (url.Values, error) {
	begun, err := c.attemptOf(r, provider.now())
	if err != nil {
		return nil, err
	}
	said := r.URL.Query()
	if said.Get("code") == "" {
		return nil, oidc.ErrRefused.Because(errors.New("the identity provider says: " + said.Get("error")))
	}
	leave, ok := c.returns.enter()
	if !ok {
		return nil, errManyReturns
	}
	defer leave()
	grant, err := provider.issuer.Return(r.Context(), provider.client(), begun.Attempt, said.Get("code"))
	if err != nil {
		return nil, err
	}
	settings, err := provider.settingsOf(grant.Token)
	if err != nil {
		return nil, err
	}
	key := provider.keyFor(grant.Token.Subject, settings)
	holder := sessions.Holder{KeyID: key.id, Human: key.human}
	token := sessions.Token{
		Issuer: provider.cfg.OIDCIssuer, Subject: grant.Token.Subject, Agents: key.agents, Roles: key.roles, Until: grant.Until,
	}
	if err := key.quota.Take(0); err != nil {
		return nil, err
	}
	ctx := caller.NewContext(r.Context(), caller.Caller{KeyID: key.id, Account: key.quota.Account()})
	made, err := c.keys.sessions.Await(ctx, holder, token, grant.Refresh, cookiesOf(r))
	if err != nil {
		return nil, err
	}
	http.SetCookie(w, c.cookie(r, made.Cookie))
	return url.Values{"code": {made.Code}}, nil
}

// returns bounds how many people come back at a time, and how fast.
type returns struct {
	places chan struct{}
	pace   *rate.Limiter
}

func newReturns() *returns {
	return &returns{make(chan struct{}, mostReturns), rate.NewLimiter(returnsPerSecond, returnsAtOnce)}
}

// enter lets somebody come back, unless there are too many. leave must be called when that has ended.
func (r *returns) enter() (leave func(), ok bool) {
	select {
	case r.places <- struct{}{}:
	default:
		return nil, false
	}
	if !r.pace.Allow() {
		<-r.places
		return nil, false
	}
	return func() { <-r.places }, true
}

// attemptOf returns the way on which a browser has been that comes back.
func (c *signingIn) attemptOf(r *http.Request, now time.Time) (begun attempt, _ error) {
	state := r.URL.Query().Get("state")
	for _, cookie := range r.CookiesNamed(c.attemptCookie(r, "", 0).Name) {
		text, ok, err := c.keys.sessions.Open(r.Context(), leavePath, cookie.Value)
		if err != nil {
			return begun, err
		}
		if !ok || json.Unmarshal([]byte(text), &begun) != nil {
			continue
		}
		age := now.Sub(begun.Began)
		if subtle.ConstantTimeCompare([]byte(begun.State), []byte(state)) == 1 && age >= 0 && age < attemptFor {
			return begun, nil
		}
	}
	return attempt{}, errAttemptOver
}

// attemptCookie is the form of the cookie that keeps somebody's way through the identity provider.
func (c *signingIn) attemptCookie(r *http.Request, value string, seconds int) *http.Cookie {
	made := &http.Cookie{
		Name: plainAttempt + strings.TrimPrefix(plainName(r), plainCookie), Value: value, Path: c.path + leavePath, MaxAge: seconds,
		HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
	if c.isSecure(r) {
		made.Name, made.Secure = secureAttempt, true
	}
	return made
}

// takeOver gives the page of a browser that has come back from the identity provider the secret of its session.
func (c *signingIn) takeOver(ctx context.Context, w http.ResponseWriter, r *http.Request, code, agent string) error {
	var key *apiKey
	taken, secret, err := c.keys.sessions.TakeOver(ctx, cookiesOf(r), code, func(s *sessions.Session) (string, error) {
		chosen := *s
		var err error
		if chosen.Agent, err = chooseAgent(s.Token.Agents, agent); err != nil {
			return "", err
		}
		if caller.IsGuest(chosen.Agent) {
			return "", errNoGuest
		}
		if key, err = c.keys.ofSession(ctx, &chosen); key == nil && err == nil {
			err = errCodeUsed
		}
		return chosen.Agent, err
	})
	if err != nil {
		return err
	}
	if taken == nil {
		return errCodeUsed
	}
	knowConnection(r.Context())
	c.logger.Info("somebody signed in at the console by the identity provider", "agent", taken.Agent, "key", taken.KeyID, "human", key.human)
	shown := showOf(key, taken.Agent, key.human)
	shown.Secret = secret
	return answerJSON(w, http.StatusCreated, shown)
}

// chooseAgent returns the agent as which somebody signs in whom the identity provider lets act as several.
func chooseAgent(agents []string, named string) (string, error) {
	switch {
	case named == "" && len(agents) == 1:
		return agents[0], nil
	case named == "":
		return "", errTokenAgentNeeded.With("agents", strings.Join(agents[:min(len(agents), mostAgentsNamed)], ", "))
	}
	if !slices.Contains(agents, named) {
		return "", errSignInAgent
	}
	return named, nil
}

// mostAgentsNamed is how many agents a refusal names from which somebody can choose.
const mostAgentsNamed = 20

var errTokenAgentNeeded = fault.New(fault.Denied, "AGENT_NEEDED",
	"The identity provider lets you act as several agents; send the code again, with one of them in agent_id.")
