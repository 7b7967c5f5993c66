package server

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"openintent/agents"
	"openintent/internal/caller"
	"openintent/internal/fault"
	"openintent/internal/oidc"
)

const (
	// issuerPoll is how often the server looks whether it is time to fetch the issuer's keys.
	issuerPoll = time.Second
	// mostTokens is how many tokens are remembered as checked. Another one is checked again at its next call.
	mostTokens = 10_000
	// mostTokenAgents is how many agents one token may name.
	mostTokenAgents = 100
	// mostSkew bounds how far the issuer's clock may differ.
	mostSkew = 10 * time.Minute
)

// tokens finds callers by the tokens of an identity provider. A token is bound to the agents that it names. It is never the
// operator's. A nil tokens knows no callers.
type tokens struct {
	issuer *oidc.Issuer
	cfg    Config
	now    func() time.Time
	quotas *quotas
	// checked are tokens that were found good, by their digests.
	checked *lru.Cache[[sha256.Size]byte, *apiKey]
}

// newTokens returns nil if no identity provider is configured.
func newTokens(cfg Config, now func() time.Time, logger *slog.Logger) *tokens {
	if cfg.OIDCIssuer == "" {
		return nil
	}
	checked, err := lru.New[[sha256.Size]byte, *apiKey](mostTokens)
	if err != nil {
		panic(err) // the size is positive
	}
	return &tokens{
		issuer: oidc.New(oidc.Config{
			Issuer: cfg.OIDCIssuer, Audience: cfg.OIDCAudience, Skew: cfg.OIDCClockSkew, Now: now, Logger: logger,
		}),
		cfg: cfg, now: now, quotas: newQuotas(cfg.rates()), checked: checked,
	}
}

// checkTokens refuses settings of tokens that make no sense.
func (c Config) checkTokens() error {
	if c.OIDCIssuer == "" {
		if c.OIDCAudience != "" {
			return errors.New("OPENINTENT_OIDC_AUDIENCE is set without OPENINTENT_OIDC_ISSUER; set both or neither")
		}
		if c.OIDCScopes != "" {
			return errors.New("OPENINTENT_OIDC_SCOPES is set without OPENINTENT_OIDC_ISSUER; set the issuer too, or no scopes")
		}
		if c.OIDCClientID != "" {
			return errors.New("OPENINTENT_OIDC_CLIENT_ID is set without OPENINTENT_OIDC_ISSUER; set both or neither")
		}
		return nil
	}
	if err := oidc.CheckURL(c.OIDCIssuer); err != nil {
		return fmt.Errorf("OPENINTENT_OIDC_ISSUER %w", err)
	}
	switch {
	case c.OIDCAudience == "":
		return errors.New("OPENINTENT_OIDC_AUDIENCE must be set with OPENINTENT_OIDC_ISSUER; otherwise tokens for other servers would count here")
	case c.OIDCAgentClaim == "":
		return errors.New("OPENINTENT_OIDC_AGENT_CLAIM must name the claim that names the agent, such as sub")
	case c.OIDCClockSkew < 0 || c.OIDCClockSkew > mostSkew:
		return fmt.Errorf("OPENINTENT_OIDC_CLOCK_SKEW must lie between 0s and %s", mostSkew)
	case agentProblem(c.OIDCAgentPrefix+"agent") != "" || caller.Reserved(c.OIDCAgentPrefix+"agent"):
		return errors.New("OPENINTENT_OIDC_AGENT_PREFIX must be the beginning of an agent's id; it may not be role:, contain / or be long")
	}
	if c.OIDCClientID == "" && c.OIDCClientSecret != "" {
		return errors.New("OPENINTENT_OIDC_CLIENT_SECRET is set without OPENINTENT_OIDC_CLIENT_ID; set the id too, or no secret")
	}
	for _, scope := range c.oidcScopes() {
		if !scopeForm.MatchString(scope) {
			return fmt.Errorf("OPENINTENT_OIDC_SCOPES must list scopes, such as openid,agents.read; %q is none", scope)
		}
	}
	return nil
}

// scopeForm is the form of a scope (RFC 6749).
var scopeForm = regexp.MustCompile(`^[!#-\[\]-~]+$`)

// oidcScopes are the scopes that clients ask the issuer for.
func (c Config) oidcScopes() []string { return commaSeparated(c.OIDCScopes) }

// find returns what a token allows, or nil if the text is no token. It fails if the token is not accepted.
func (t *tokens) find(ctx context.Context, presented string) (*apiKey, error) {
	if t == nil || !oidc.HasForm(presented) {
		return nil, nil
	}
	digest := sha256.Sum256([]byte(presented))
	if key, ok := t.checked.Get(digest); ok && key.valid.Err() == nil {
		if key.expired(t.now()) {
			return nil, key.over
		}
		return key, nil
	}
	token, err := t.issuer.Check(ctx, presented)
	if err != nil {
		return nil, err
	}
	key, err := t.keyOf(token)
	if err != nil {
		return nil, err
	}
	t.checked.Add(digest, key)
	return key, nil
}

// keyOf returns what a token allows. It is over when the token expires, or when the issuer no longer lists the key that signed it.
func (t *tokens) keyOf(token *oidc.Token) (*apiKey, error) {
	settings, err := t.settingsOf(token)
	if err != nil {
		return nil, err
	}
	key := t.keyFor(token.Subject, settings)
	key.until, key.over, key.valid = token.Until, oidc.ErrExpired, token.Key.Listed
	return key, nil
}

// keyFor returns what the issuer lets a subject do, as far as it does not end.
func (t *tokens) keyFor(subject string, settings keySettings) *apiKey {
	id := credentialID("token", t.cfg.OIDCIssuer+"\n"+subject)
	return &apiKey{
		id: id, subject: t.cfg.OIDCIssuer + " " + subject, keySettings: settings, quota: t.quotas.of(id), valid: context.Background(),
	}
}

// settingsOf reads what a token lets its bearer do.
func (t *tokens) settingsOf(token *oidc.Token) (settings keySettings, err error) {
	settings.bound = true
	if settings.agents, err = t.agentsOf(token); err != nil {
		return settings, err
	}
	if settings.roles, err = t.rolesOf(token); err != nil {
		return settings, err
	}
	settings.human = t.cfg.OIDCHumanClaim != "" && token.IsTrue(t.cfg.OIDCHumanClaim)
	if settings.human && len(settings.agents) != 1 {
		return settings, badClaim(t.cfg.OIDCAgentClaim, "must name exactly one agent, because the token is a person's")
	}
	return settings, nil
}

// agentsOf returns the agents that a token names.
func (t *tokens) agentsOf(token *oidc.Token) (names []string, _ error) {
	claimed, wellFormed := token.Strings(t.cfg.OIDCAgentClaim)
	switch {
	case !wellFormed || len(claimed) == 0:
		return nil, badClaim(t.cfg.OIDCAgentClaim, "must name an agent, or list agents")
	case len(claimed) > mostTokenAgents:
		return nil, badClaim(t.cfg.OIDCAgentClaim, fmt.Sprintf("may list %d agents at most", mostTokenAgents))
	}
	for _, name := range claimed {
		if name == "" {
			return nil, badClaim(t.cfg.OIDCAgentClaim, "must not name an agent without a name")
		}
		name = t.cfg.OIDCAgentPrefix + name
		if caller.Reserved(name) {
			return nil, badClaim(t.cfg.OIDCAgentClaim, "names a reserved word (operator, system, * or role:...) in place of an agent")
		}
		if problem := agentProblem(name); problem != "" {
			return nil, badClaim(t.cfg.OIDCAgentClaim, "names an agent, and an agent's id "+problem)
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// rolesOf returns the roles that a token's agents may take. What cannot be the id of a role is left out, because a provider lists
// more than what is meant for this server; so is the word for every role.
func (t *tokens) rolesOf(token *oidc.Token) ([]string, error) {
	if t.cfg.OIDCRolesClaim == "" {
		return nil, nil
	}
	roles, wellFormed := token.Strings(t.cfg.OIDCRolesClaim)
	if !wellFormed {
		return nil, badClaim(t.cfg.OIDCRolesClaim, "must be a role, or a list of roles")
	}
	return slices.DeleteFunc(roles, func(role string) bool {
		return role == "" || role == caller.AnyRole || agents.CheckRole("roles", role) != nil
	}), nil
}

// badClaim refuses a token whose claim does not say who calls.
func badClaim(claim, problem string) error {
	return fault.New(fault.Unauthenticated, "TOKEN_CLAIM_INVALID", "The token's claim %s %s.", claim, problem)
}
