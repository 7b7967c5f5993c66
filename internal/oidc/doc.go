// Package oidc checks the JSON web tokens of one issuer, an OpenID provider. It says whose token it is, until when it is accepted,
// and what it claims. It knows neither calls nor agents.
//
// # What must hold
//
// A token is accepted only if the issuer signed it, with one of the asymmetric algorithms that the issuer lists, for our audience,
// and if it has neither expired nor is yet to begin. Clocks may differ by the skew. Every other token is refused with a sentence
// that tells what is wrong with it and nothing about others' tokens.
//
// # The issuer's keys
//
// They come from the issuer's discovery document and are fetched again every few minutes, and when a token names a key that is not
// known. Whoever makes such tokens up costs the issuer little: fetches are paced, all who need one share it, and its time and size
// are bounded.
//
// # Failure
//
// While the issuer is away, the keys that are known go on counting. Before any are known, a token that could be accepted is refused
// with UNAVAILABLE. If the issuer no longer lists a key, that ends what its tokens began.
package oidc
