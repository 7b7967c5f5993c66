package oidc

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/http"
	"slices"
	"time"

	"golang.org/x/oauth2"
)

const (
	// exchangePatience is how long the issuer may take to answer with tokens.
	exchangePatience = 10 * time.Second
	// unsaid is how long what the issuer has said is taken to hold if it does not say.
	unsaid = 5 * time.Minute
)

// Client is the server as a client of the issuer, which signs people in.
type Client struct {
	// ID and Secret are those that the issuer knows; a public client has no secret.
	ID, Secret string
	// Scopes are those that it asks for beside openid.
	Scopes []string
}

// Attempt is one person's way through the issuer and back. Each has its own secrets.
type Attempt struct {
	// State is given back by the issuer, Nonce stands in its token, and Verifier proves that the same client comes back (RFC 7636).
	State, Nonce, Verifier string
	// Redirect is where the issuer leads the person back to.
	Redirect string
}

// NewAttempt makes an attempt that nobody can guess.
func NewAttempt(redirect string) Attempt {
	return Attempt{oauth2.GenerateVerifier(), oauth2.GenerateVerifier(), oauth2.GenerateVerifier(), redirect}
}

// Grant is what the issuer says of a person who has signed in.
type Grant struct {
	// Token is the person's, made for the client; nil if a renewal has brought none.
	Token *Token
	// Until is when what the issuer has said no longer holds.
	Until time.Time
	// Refresh renews it; empty if the issuer gave nothing for that.
	Refresh string
}

// Leave returns the address at which a person begins to sign in.
func (i *Issuer) Leave(ctx context.Context, client Client, attempt Attempt) (string, error) {
	flow, err := i.flow(ctx, client, attempt.Redirect)
	if err != nil {
		return "", err
	}
	return flow.AuthCodeURL(attempt.State, oauth2.S256ChallengeOption(attempt.Verifier), oauth2.SetAuthURLParam("nonce", attempt.Nonce)), nil
}

// Return exchanges the code with which a person came back for what the issuer says of that person.
func (i *Issuer) Return(ctx context.Context, client Client, attempt Attempt, code string) (*Grant, error) {
	flow, err := i.flow(ctx, client, attempt.Redirect)
	if err != nil {
		return nil, err
	}
	ctx, cancel := i.asking(ctx)
	defer cancel()
	given, err := flow.Exchange(ctx, code, oauth2.VerifierOption(attempt.Verifier))
	if err != nil {
		return nil, refusalOf(err)
	}
	grant, err := i.grant(ctx, client, given)
	if err != nil {
		return nil, err
	}
	if grant.Token == nil {
		return nil, ErrRefused.Because(errors.New("the issuer gave no id_token"))
	}
	if nonce, _ := grant.Token.claims["nonce"].(string); subtle.ConstantTimeCompare([]byte(nonce), []byte(attempt.Nonce)) != 1 {
		return nil, ErrRefused.Because(errors.New("the nonce of the id_token is not the attempt's"))
	}
	return grant, nil
}

// Renew asks the issuer again about a person. It returns ErrRefused if the issuer says no.
func (i *Issuer) Renew(ctx context.Context, client Client, refresh, subject string) (*Grant, error) {
	flow, err := i.flow(ctx, client, "")
	if err != nil {
		return nil, err
	}
	ctx, cancel := i.asking(ctx)
	defer cancel()
	given, err := flow.TokenSource(ctx, &oauth2.Token{RefreshToken: refresh}).Token()
	if err != nil {
		return nil, refusalOf(err)
	}
	grant, err := i.grant(ctx, client, given)
	if err != nil {
		return nil, err
	}
	if grant.Token != nil && grant.Token.Subject != subject {
		return nil, ErrRefused.Because(errors.New("the renewed id_token is another subject's"))
	}
	return grant, nil
}

// grant reads what the issuer gave.
func (i *Issuer) grant(ctx context.Context, client Client, given *oauth2.Token) (*Grant, error) {
	grant := &Grant{Refresh: given.RefreshToken}
	lasts := unsaid
	if given.ExpiresIn > 0 {
		lasts = time.Duration(given.ExpiresIn) * time.Second
	}
	grant.Until = i.cfg.Now().Add(lasts)
	text, _ := given.Extra("id_token").(string)
	if text == "" {
		return grant, nil
	}
	token, err := i.check(ctx, text, client.ID)
	if err != nil {
		return nil, err
	}
	if party, said := token.claims["azp"]; said && party != client.ID {
		return nil, errAudience
	}
	grant.Token, grant.Until = token, token.Until
	return grant, nil
}

// flow returns the authorization code flow of a client.
func (i *Issuer) flow(ctx context.Context, client Client, redirect string) (*oauth2.Config, error) {
	known := i.known.Load()
	if known == nil {
		i.fetches.join(ctx)
		known = i.known.Load()
	}
	if known == nil || known.authorization == "" || known.token == "" {
		return nil, errNoSigningIn
	}
	style := oauth2.AuthStyleInHeader
	if client.Secret == "" || known.inBody {
		style = oauth2.AuthStyleInParams
	}
	return &oauth2.Config{
		ClientID: client.ID, ClientSecret: client.Secret, RedirectURL: redirect, Scopes: append([]string{"openid"}, client.Scopes...),
		Endpoint: oauth2.Endpoint{AuthURL: known.authorization, TokenURL: known.token, AuthStyle: style},
	}, nil
}

// asking returns a context for a request to the issuer.
func (i *Issuer) asking(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, exchangePatience)
	return context.WithValue(ctx, oauth2.HTTPClient, i.client), cancel
}

// refusalOf tells an issuer that says no from one that cannot answer now.
func refusalOf(err error) error {
	var said *oauth2.RetrieveError
	if errors.As(err, &said) && said.Response != nil && said.ErrorCode != "invalid_client" && slices.Contains(noes, said.Response.StatusCode) {
		return ErrRefused.Because(err)
	}
	return errIssuerAway.Because(err)
}

// noes are the statuses with which an issuer says no to a person. It says no to the server itself with the error invalid_client.
var noes = []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden}
