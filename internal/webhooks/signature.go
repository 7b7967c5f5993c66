package webhooks

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"
)

// The form of secrets and signatures, from the Standard Webhooks specification, version 1.0.0.
const (
	secretPrefix    = "whsec_"
	secretBytes     = 32
	minSecretBytes  = 24
	maxSecretBytes  = 64
	signatureScheme = "v1"
)

var errSecret = errors.New("the webhook's secret is not of the form whsec_ and base64")

// NewSecret makes a secret that signs posts.
func NewSecret() string {
	secret := make([]byte, secretBytes)
	_, _ = rand.Read(secret) // never fails
	return secretPrefix + base64.StdEncoding.EncodeToString(secret)
}

// sign returns the value of the webhook-signature header.
func sign(secret, id string, at time.Time, body []byte) (string, error) {
	encoded, found := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !found || err != nil || len(key) < minSecretBytes || len(key) > maxSecretBytes {
		return "", errSecret
	}
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte(id + "." + timestamp(at) + ".")) // a hash never fails
	_, _ = mac.Write(body)
	return signatureScheme + "," + base64.StdEncoding.EncodeToString(mac.Sum(nil)), nil
}

// timestamp returns the value of the webhook-timestamp header.
func timestamp(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }
