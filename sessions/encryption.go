package sessions

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"errors"
)

// errForeign says that something was encrypted with another cookie.
var errForeign = errors.New("the session's cookie does not decrypt what belongs to the session")

// encrypt hides a text from whoever does not have the cookie. It returns nil for the empty text.
func encrypt(cookie, text string) []byte {
	if text == "" {
		return nil
	}
	return cipherOf(cookie).Seal(nil, nil, []byte(text), nil)
}

// decrypt returns a text that was encrypted with the cookie.
func decrypt(cookie string, hidden []byte) (string, error) {
	text, err := cipherOf(cookie).Open(nil, nil, hidden, nil)
	if err != nil {
		return "", errForeign
	}
	return string(text), nil
}

// cipherOf returns the cipher of a cookie, which makes a nonce of its own for each text.
func cipherOf(cookie string) cipher.AEAD {
	key := sha256.Sum256([]byte("openintent session's refresh token\x00" + cookie))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // the key has the right length
	}
	sealed, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // happens only to ciphers with other blocks
	}
	return sealed
}
