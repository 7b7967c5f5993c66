package oidc

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

const (
	// maxTokenBytes bounds a token.
	maxTokenBytes = 16 << 10
	// maxSubjectBytes bounds a token's subject, which is stored with what its holder makes.
	maxSubjectBytes = 1024
)

// Token is a token that its issuer signed.
type Token struct {
	// Subject is whose token it is, by a name that the issuer gives to nobody else.
	Subject string
	// Until is when the token is no longer accepted: its expiry, and the skew.
	Until time.Time
	// Key is the key that signed it.
	Key *Key

	claims map[string]any
}

// digits are those in which a token's parts are written.
const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// HasForm reports whether a text has the form of a token: three parts in base64url, with points between them.
func HasForm(text string) bool {
	return strings.Count(text, ".") == 2 && strings.Trim(text, digits+".") == ""
}

// Check accepts a token or says what is wrong with it. Only a token that could be accepted costs the check of a signature, or the
// fetch of a key.
func (i *Issuer) Check(ctx context.Context, text string) (*Token, error) {
	return i.check(ctx, text, i.cfg.Audience)
}

// check is Check for a token that is meant for an audience.
func (i *Issuer) check(ctx context.Context, text, audience string) (*Token, error) {
	if len(text) > maxTokenBytes {
		return nil, errTooLong
	}
	if !HasForm(text) || !inOneSpelling(text) {
		return nil, errMalformed
	}
	parsed, err := jwt.ParseSigned(text, algorithms)
	if refused := (*jose.ErrUnexpectedSignatureAlgorithm)(nil); errors.As(err, &refused) {
		return nil, errAlgorithm
	}
	var object map[string]json.RawMessage
	if err != nil || parsed.UnsafeClaimsWithoutVerification(&object) != nil || object == nil {
		return nil, errMalformed
	}
	var claims jwt.Claims
	if err := parsed.UnsafeClaimsWithoutVerification(&claims); err != nil {
		return nil, errClaims
	}
	if err := i.judge(claims, audience); err != nil {
		return nil, err
	}
	key, err := i.find(ctx, parsed.Headers[0])
	if err != nil {
		return nil, err
	}
	token := &Token{Subject: claims.Subject, Until: claims.Expiry.Time().Add(i.cfg.Skew), Key: key}
	if err := parsed.Claims(key.Key, &token.claims); err != nil {
		return nil, errSignature
	}
	return token, nil
}

// inOneSpelling reports whether each part of a token is spelt as an issuer spells it. Decoders are lenient, so that one token
// could be sent in thousands of spellings.
func inOneSpelling(text string) bool {
	for part := range strings.SplitSeq(text, ".") {
		if _, err := base64.RawURLEncoding.Strict().DecodeString(part); err != nil {
			return false
		}
	}
	return true
}

// judge refuses claims that no signature can make acceptable.
func (i *Issuer) judge(claims jwt.Claims, audience string) error {
	now := i.cfg.Now()
	err := claims.ValidateWithLeeway(jwt.Expected{
		Issuer: i.cfg.Issuer, AnyAudience: jwt.Audience{audience}, Time: now,
	}, i.cfg.Skew)
	switch {
	case errors.Is(err, jwt.ErrInvalidIssuer):
		return errIssuer
	case errors.Is(err, jwt.ErrInvalidAudience):
		return errAudience
	case claims.Expiry == nil:
		return errNoExpiry
	case !claims.Expiry.Time().Add(i.cfg.Skew).After(now):
		return ErrExpired
	case err != nil:
		return errTooEarly
	case claims.Subject == "":
		return errNoSubject
	case len(claims.Subject) > maxSubjectBytes || strings.ContainsFunc(claims.Subject, unicode.IsControl):
		return errSubject
	}
	return nil
}

// find returns the key that a token's header names, and looks at what the issuer publishes now if it is not known.
func (i *Issuer) find(ctx context.Context, header jose.Header) (*Key, error) {
	known := i.known.Load()
	if known == nil || known.find(header) == nil {
		i.fetches.join(ctx)
		known = i.known.Load()
	}
	switch {
	case known == nil:
		return nil, errIssuerAway
	case !slices.Contains(known.algorithms, jose.SignatureAlgorithm(header.Algorithm)):
		return nil, errAlgorithm
	}
	if key := known.find(header); key != nil {
		return key, nil
	}
	if i.failing.Load() {
		return nil, errIssuerAway
	}
	return nil, errKey
}
