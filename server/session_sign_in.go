package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"

	"google.golang.org/grpc/metadata"

	"openintent/internal/caller"
	"openintent/internal/fault"
	"openintent/internal/jsonvalue"
	"openintent/server/jsonform"
	"openintent/sessions"
)

// mostSignInBytes bounds what is read of a sign-in, whose sender nobody knows yet.
const mostSignInBytes = 32 << 10

var (
	errSignInHeader = fault.New(fault.Denied, "CONSOLE_HEADER_MISSING",
		"Signing in needs the header X-OpenIntent-Console with the value %s, which no page of another origin can send.", signInWord)
	errSignInAgent = fault.New(fault.Denied, "AGENT_NOT_ALLOWED",
		"The API key is bound to other agents than the one in agent_id; leave it out, or name one of the key's.")
	errSignInAgentNeeded = fault.New(fault.Denied, "AGENT_NEEDED",
		"The API key is bound to several agents; name one of them in agent_id.")
	errIsInvite = fault.BadField("api_key", "is an invite; send it as invite, and your name as name.")
	errIsToken  = fault.BadField("api_key", "is a token of an identity provider, and no API key; sign in there.")
)

// signInRequest is what somebody signs in with: an API key, an invite or a code.
type signInRequest struct {
	APIKey *string `json:"api_key"`
	Invite *string `json:"invite"`
	// Code is that of somebody who has come back from the identity provider.
	Code *string `json:"code"`
	// AgentID goes with an API key or a code, and Name with an invite.
	AgentID string `json:"agent_id"`
	Name    string `json:"name"`
}

// signIn begins a session.
func (c *signingIn) signIn(w http.ResponseWriter, r *http.Request) error {
	var asked signInRequest
	if err := c.readSignIn(w, r, &asked); err != nil {
		return err
	}
	if err := asked.check(); err != nil {
		return err
	}
	if asked.Code != nil {
		return c.takeOver(r.Context(), w, r, *asked.Code, asked.AgentID)
	}
	who, key, err := c.callerOf(r.Context(), asked)
	if err != nil {
		return err
	}
	knowConnection(r.Context())
	who.Human = who.Human || c.isPersonHere(r, key, who.Agent)
	return c.begin(w, r, who, key)
}

// callerOf finds out who signs in, by the rules of calls.
func (c *signingIn) callerOf(ctx context.Context, asked signInRequest) (caller.Caller, *apiKey, error) {
	if asked.Invite != nil {
		return c.guest(ctx, *asked.Invite, asked.Name)
	}
	md := metadata.Pairs("x-api-key", *asked.APIKey)
	switch key, err := c.keys.shown(ctx, md); {
	case err != nil:
		return caller.Caller{}, nil, err
	case key.invite != nil:
		return caller.Caller{}, nil, errIsInvite
	case key.subject != "":
		return caller.Caller{}, nil, errIsToken
	}
	if asked.AgentID != "" {
		md.Set("x-agent-id", asked.AgentID)
	}
	who, key, err := c.keys.identify(ctx, md)
	switch {
	case errors.Is(err, errAgentNotBound):
		err = errSignInAgent
	case errors.Is(err, errAgentNeeded):
		err = errSignInAgentNeeded
	}
	return who, key, err
}

// check refuses what nobody can sign in with.
func (s signInRequest) check() error {
	ways := map[string]*string{"api_key": s.APIKey, "invite": s.Invite, "code": s.Code}
	maps.DeleteFunc(ways, func(_ string, value *string) bool { return value == nil })
	switch {
	case len(ways) == 0:
		return fault.BadField("api_key", "is missing; send the API key that you sign in with, an invite, or a code.")
	case len(ways) > 1:
		return fault.BadField(sortedKeys(ways)[1], "goes without %s; send one of them.", sortedKeys(ways)[0])
	case *ways[sortedKeys(ways)[0]] == "":
		return fault.BadField(sortedKeys(ways)[0], "is empty; send what you sign in with.")
	case s.Invite == nil && s.Name != "":
		return fault.BadField("name", "goes with an invite; otherwise agent_id names the agent.")
	case s.Invite != nil && s.AgentID != "":
		return fault.BadField("agent_id", "goes with an API key; with an invite, name says who you are.")
	}
	return s.checkAgent()
}

// checkAgent refuses names that nobody has who signs in without an invite.
func (s signInRequest) checkAgent() error {
	switch {
	case s.AgentID == "":
		return nil
	case caller.Reserved(s.AgentID):
		return fault.BadField("agent_id", "is a reserved word (operator, system, * or role:...); name an agent, or leave it out to sign in as the key does.")
	case agentProblem(s.AgentID) != "":
		return fault.BadField("agent_id", agentProblem(s.AgentID))
	}
	return caller.CheckNoGuest("agent_id", s.AgentID)
}

// begin stores a session of a key and answers with its secrets.
func (c *signingIn) begin(w http.ResponseWriter, r *http.Request, who caller.Caller, key *apiKey) error {
	if err := who.Quota.Take(0); err != nil {
		return err
	}
	who.Account = who.Quota.Account()
	holder := sessions.Holder{KeyID: key.id, Agent: who.Agent, Human: who.Human}
	made, err := c.keys.sessions.Begin(caller.NewContext(r.Context(), who), holder, key.digest, cookiesOf(r))
	if err != nil {
		return err
	}
	c.logger.Info("somebody signed in at the console", "agent", who.Agent, "key", key.id, "human", who.Human)
	http.SetCookie(w, c.cookie(r, made.Cookie))
	shown := showOf(key, who.Agent, who.Human)
	shown.Secret = made.Secret
	return answerJSON(w, http.StatusCreated, shown)
}

// readSignIn reads the body of a request of somebody who wants to sign in, from the console's own page.
func (c *signingIn) readSignIn(w http.ResponseWriter, r *http.Request, into any) error {
	if err := c.checkPage(r); err != nil {
		return err
	}
	if word, _ := secretOf(r); word != signInWord {
		return errSignInHeader
	}
	body, err := readUpTo(w, r, nil, mostSignInBytes)
	if err != nil {
		return err
	}
	if err := jsonvalue.Check(body, ""); err != nil {
		return fault.BadField(jsonform.Body, "must be one JSON object in UTF-8 without U+0000, which has each field once.")
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if decoder.Decode(into) != nil {
		return fault.BadField(jsonform.Body, "must be a JSON object with the fields that signing in has, which are texts.")
	}
	return nil
}
