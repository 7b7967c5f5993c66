package server

import (
	"encoding/json"
	"log/slog"
	"net/http"
)

const (
	// sessionPath is where people sign in, see who is signed in, and sign out.
	sessionPath = "/console/session"
	// waysPath is where the console learns how people may sign in. Everybody may know that.
	waysPath = "/console/ways"
	// invitePath is where they learn what an invite is for.
	invitePath = "/console/invite"
)

// signingIn is the server's side of the web console: it knows who is signed in. A nil signingIn knows nobody.
type signingIn struct {
	gateway *gateway
	keys    *Keys
	logger  *slog.Logger
	// public is the server's public address, and origin the origin of its pages; both are empty if none is set.
	public, origin string
	// path is that of the public address.
	path string
	// returns bounds how many people come back from the identity provider at a time.
	returns *returns
	// loopback is true if only this machine reaches the port.
	loopback bool
	// routes answer by path and method.
	routes map[string]map[string]func(http.ResponseWriter, *http.Request) error
}

// newConsole returns nil if the settings want no console.
func newConsole(g *gateway, keys *Keys, cfg Config, logger *slog.Logger) *signingIn {
	if keys.sessions == nil {
		return nil
	}
	origin, _ := plainOrigin(cfg.PublicURL)
	c := &signingIn{
		gateway: g, keys: keys, logger: logger, public: cfg.publicAddress(), origin: origin, path: cfg.publicPath(),
		returns:  newReturns(),
		loopback: isLoopback(cfg.HTTPAddr) && cfg.AllowedHosts == "",
	}
	c.routes = map[string]map[string]func(http.ResponseWriter, *http.Request) error{
		sessionPath: {http.MethodPost: c.signIn, http.MethodGet: c.show, http.MethodDelete: c.signOut},
		waysPath:    {http.MethodGet: c.showWays},
		invitePath:  {http.MethodPost: c.showInvite},
		leavePath:   {http.MethodGet: c.leave},
		returnPath:  {http.MethodGet: c.comeBack},
	}
	if cfg.OIDCClientID != "" && c.public == "" && !c.loopback {
		logger.Warn("nobody can sign in at the console by the identity provider, because the server does not know its own address; " +
			"OPENINTENT_PUBLIC_URL can name it")
	}
	return c
}

// serve answers a request if it is about signing in, and reports whether it is.
func (c *signingIn) serve(w *trackedWriter, r *http.Request) bool {
	if c == nil {
		return false
	}
	methods, isOwn := c.routes[r.URL.EscapedPath()]
	if !isOwn {
		return false
	}
	w.Header().Set("Cache-Control", "no-store")
	answer := methods[r.Method]
	if answer == nil {
		refuseMethod(w, sortedKeys(methods)...)
	} else if err := answer(w, r); err != nil {
		c.gateway.refuse(w, r, err)
	}
	return true
}

// ways are how people may sign in.
type ways struct {
	APIKey bool `json:"api_key"`
	// Provider is true if people sign in by an identity provider, which begins at leavePath.
	Provider bool `json:"provider"`
	// You is true if the person at this machine may sign in under that name, with the development key.
	You bool `json:"you"`
}

// showWays answers how people may sign in.
func (c *signingIn) showWays(w http.ResponseWriter, r *http.Request) error {
	_, _, noProvider := c.client(r)
	return answerJSON(w, http.StatusOK, ways{APIKey: true, Provider: noProvider == nil, You: c.acceptsPersonHere(r)})
}

// shownSession is what the console learns of a session.
type shownSession struct {
	AgentID  string `json:"agent_id"`
	Human    bool   `json:"human"`
	Operator bool   `json:"operator"`
	ReadOnly bool   `json:"read_only"`
	// Secret is only in the answer that begins the session.
	Secret string `json:"console_secret,omitempty"`
}

// showOf returns what the console learns of a session of a key and an agent.
func showOf(key *apiKey, agent string, human bool) shownSession {
	return shownSession{AgentID: agent, Human: human, Operator: !key.bound, ReadOnly: key.readOnly}
}

// show answers who is signed in.
func (c *signingIn) show(w http.ResponseWriter, r *http.Request) error {
	secret, _ := secretOf(r)
	person, err := c.find(r, secret)
	if err != nil {
		return err
	}
	knowConnection(r.Context())
	return answerJSON(w, http.StatusOK, showOf(person.key, person.session.Agent, person.key.human))
}

// signOut ends a session.
func (c *signingIn) signOut(w http.ResponseWriter, r *http.Request) error {
	secret, _ := secretOf(r)
	person, err := c.find(r, secret)
	if err != nil {
		return err
	}
	knowConnection(r.Context())
	if err := c.keys.sessions.End(r.Context(), person.session); err != nil {
		return err
	}
	c.keys.expiries.endSessions(person.session.ID)
	c.logger.Info("somebody signed out of the console", "agent", person.session.Agent, "key", person.session.KeyID)
	forget(w, r)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func answerJSON(w http.ResponseWriter, status int, content any) error {
	text, err := json.Marshal(content)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text)
	return nil
}
