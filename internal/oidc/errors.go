package oidc

import (
	"time"

	"openintent/internal/fault"
)

// ErrExpired refuses a token that has expired, and ends what it began.
var ErrExpired = fault.New(fault.Unauthenticated, "TOKEN_EXPIRED", "The token has expired; get a new one from its issuer.")

// errIssuerAway refuses a token that cannot be checked now.
var errIssuerAway = fault.New(fault.Unavailable, "TOKEN_ISSUER_UNAVAILABLE",
	"The token cannot be checked now, because its issuer cannot be reached; try again in a moment.").After(5 * time.Second)

// ErrRefused says that the issuer does not let somebody in, or does not renew what it has said of somebody.
var ErrRefused = fault.New(fault.Unauthenticated, "SIGN_IN_REFUSED",
	"The identity provider did not let you in; try again, or ask whoever runs it.")

// errNoSigningIn refuses to lead anybody to an issuer that does not say where people sign in.
var errNoSigningIn = fault.New(fault.Unavailable, "TOKEN_ISSUER_UNAVAILABLE",
	"The identity provider does not say where people sign in, or cannot be reached; try again in a moment.").After(5 * time.Second)

// These refuse a token for good.
var (
	errMalformed = invalid("The token is not a signed JSON web token in its compact form; send it as the issuer made it.")
	errClaims    = invalid("A claim of the token is not of its type: iss and sub must be texts, aud a text or a list of texts, and exp, nbf and " +
		"iat numbers of seconds.")
	errTooLong   = invalid("The token is longer than 16 KiB; ask its issuer for one with fewer claims.")
	errAlgorithm = invalid("The token is not signed with an asymmetric algorithm that its issuer lists.")
	errIssuer    = invalid("The token comes from another issuer than the one that this server trusts.")
	errAudience  = invalid("The token is meant for another audience; ask its issuer for one that is meant for this server.")
	errNoExpiry  = invalid("The token does not say when it expires; only a token with the claim exp is accepted.")
	errNoSubject = invalid("The token does not say whose it is; only a token with the claim sub is accepted.")
	errSubject   = invalid("The token's claim sub must have at most 1,024 bytes and no control characters; ask its issuer for another one.")
	errTooEarly  = invalid("The token is not valid yet; wait, or compare the clocks of its issuer and of this server.")
	errKey       = invalid("The token is signed with a key that its issuer does not list; get a new one from its issuer.")
	errSignature = invalid("The token's signature does not fit its content; send it as the issuer made it.")
)

func invalid(sentence string) *fault.Fault {
	return fault.New(fault.Unauthenticated, "TOKEN_INVALID", sentence)
}
