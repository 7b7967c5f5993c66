package oidc

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"strings"

	"github.com/go-jose/go-jose/v4"
)

// leastRSABits is the size from which on an RSA key is accepted.
const leastRSABits = 2048

// leastRSAExponent is the exponent from which on an RSA key is accepted. With an exponent of 1, everybody can sign.
const leastRSAExponent = 3

// fits reports whether the key can be that of a signature with an algorithm.
func (k *Key) fits(algorithm jose.SignatureAlgorithm) bool {
	if k.Algorithm != "" && k.Algorithm != string(algorithm) {
		return false
	}
	switch key := k.Key.(type) {
	case *rsa.PublicKey:
		sound := key.N.BitLen() >= leastRSABits && key.E >= leastRSAExponent && key.E%2 == 1
		return sound && (strings.HasPrefix(string(algorithm), "RS") || strings.HasPrefix(string(algorithm), "PS"))
	case *ecdsa.PublicKey:
		return key.Curve == curves[algorithm]
	case ed25519.PublicKey:
		return algorithm == jose.EdDSA
	}
	return false
}

// curves are those of the algorithms with elliptic curves.
var curves = map[jose.SignatureAlgorithm]elliptic.Curve{
	jose.ES256: elliptic.P256(), jose.ES384: elliptic.P384(), jose.ES512: elliptic.P521(),
}

// same reports whether another key is this one under the same name.
func (k *Key) same(other *Key) bool {
	public, ok := k.Key.(interface {
		Equal(other crypto.PublicKey) bool
	})
	return ok && k.KeyID == other.KeyID && k.Algorithm == other.Algorithm && public.Equal(other.Key)
}

// find returns the key of a token's header. A header without a name means the only key that fits.
func (p *published) find(header jose.Header) *Key {
	var found *Key
	for _, key := range p.keys {
		if !key.fits(jose.SignatureAlgorithm(header.Algorithm)) {
			continue
		}
		switch {
		case header.KeyID == "" && found != nil:
			return nil
		case header.KeyID == "":
			found = key
		case header.KeyID == key.KeyID:
			return key
		}
	}
	return found
}
