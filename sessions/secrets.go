package sessions

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"strings"
)

const (
	// randomBytes is how many random bytes a secret has, and signatureBytes is the length of the seal's signature of a cookie.
	randomBytes, signatureBytes = 32, 16
	// cookieLength and secretLength are how many characters cookies and secrets have.
	cookieLength, secretLength = (randomBytes + signatureBytes) / 3 * 4, 43
	// secretPrefix begins each secret, so that nobody takes it for a key.
	secretPrefix = "ocs_"
)

// Digest is what the database keeps of a secret.
type Digest [sha256.Size]byte

func digestOf(text string) Digest { return sha256.Sum256([]byte(text)) }

// is compares in a time that does not tell how close a guess came.
func (d Digest) is(other Digest) bool { return subtle.ConstantTimeCompare(d[:], other[:]) == 1 }

var encoding = base64.RawURLEncoding.Strict()

// seal signs what the server hands to browsers. A purpose keeps a signature of one kind of text from counting for another.
type seal [sha256.Size]byte

func (s seal) sign(purpose, text string) []byte {
	mac := hmac.New(sha256.New, s[:])
	mac.Write([]byte(purpose + "\x00" + text))
	return mac.Sum(nil)[:signatureBytes]
}

// newCookie makes a cookie that nobody can guess.
func (s seal) newCookie() string {
	random := randomText()
	return encoding.EncodeToString(append([]byte(random), s.sign("session", random)...))
}

// signed reports whether the seal has signed a cookie.
func (s seal) signed(cookie string) bool {
	if len(cookie) != cookieLength {
		return false
	}
	bytes, ok := decoded(cookie)
	return ok && hmac.Equal(bytes[randomBytes:], s.sign("session", string(bytes[:randomBytes])))
}

// ofSigned returns the ids of the sessions whose cookies the seal has signed.
func (s seal) ofSigned(cookies []string) (ids []string) {
	for _, cookie := range cookies {
		if s.signed(cookie) {
			ids = append(ids, idOf(cookie))
		}
	}
	return ids
}

// Seal signs a text that a browser keeps for a while, for a purpose.
func (s *Service) Seal(ctx context.Context, purpose, text string) (string, error) {
	sealed, err := s.seal(ctx)
	if err != nil {
		return "", err
	}
	return encoding.EncodeToString(append(sealed.sign(purpose, text), text...)), nil
}

// Open returns a text that Seal has signed for the same purpose; ok is false for any other.
func (s *Service) Open(ctx context.Context, purpose, text string) (opened string, ok bool, _ error) {
	sealed, err := s.seal(ctx)
	if err != nil {
		return "", false, err
	}
	bytes, ok := decoded(text)
	if !ok || len(bytes) < signatureBytes {
		return "", false, nil
	}
	opened = string(bytes[signatureBytes:])
	return opened, hmac.Equal(bytes[:signatureBytes], sealed.sign(purpose, opened)), nil
}

// newSecret makes a secret of a page, or a code for one.
func newSecret() string { return secretPrefix + encoding.EncodeToString([]byte(randomText())) }

// isSecret reports whether a text has the form of a secret. No other text can be one.
func isSecret(text string) bool {
	rest, found := strings.CutPrefix(text, secretPrefix)
	if !found || len(rest) != secretLength {
		return false
	}
	_, ok := decoded(rest)
	return ok
}

// decoded returns the bytes of a text that is spelt as encoding spells them. The decoder alone would pass over ends of lines.
func decoded(text string) (bytes []byte, ok bool) {
	bytes, err := encoding.DecodeString(text)
	return bytes, err == nil && len(text) == encoding.EncodedLen(len(bytes))
}

func randomText() string {
	var random [randomBytes]byte
	_, _ = rand.Read(random[:]) // never fails
	return string(random[:])
}
