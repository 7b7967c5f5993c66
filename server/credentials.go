package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"google.golang.org/grpc/metadata"
)

// shown returns what a call shows to prove who calls: a configured key, a key of the database, a token, or, if it carries none of
// these, the certificate of its connection.
func (k *Keys) shown(ctx context.Context, md metadata.MD) (*apiKey, error) {
	presented, err := presentedKey(md)
	if errors.Is(err, errKeyMissing) {
		if key, wrong := k.certificates.find(ctx); key != nil || wrong != nil {
			return key, wrong
		}
	}
	if err != nil {
		return nil, err
	}
	if key := k.find(presented); key != nil {
		return key, nil
	}
	for _, find := range []func(context.Context, string) (*apiKey, error){k.stored.find, k.tokens.find} {
		if key, err := find(ctx, presented); key != nil || err != nil {
			return key, err
		}
	}
	return nil, k.unreplaced.refusal(presented)
}

// credentialID returns the id of a caller that shows no key, by the name that somebody else vouches for. It is the same for all
// tokens, and for all certificates, of one name.
func credentialID(kind, name string) string {
	sum := sha256.Sum256([]byte("openintent " + kind + " id:" + name))
	return hex.EncodeToString(sum[:16])
}
