package keys

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"math/big"
	"strings"
)

const (
	// secretPrefix begins each secret.
	secretPrefix = "oi_"
	// randomLength is how many digits in base 62 the random bytes take, and checksumLength how many the checksum takes.
	randomLength, checksumLength = 43, 6
	// digits are those of base 62.
	digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// Digest is what the database keeps of a secret.
type Digest [sha256.Size]byte

// DigestOf returns the digest of a secret.
func DigestOf(secret string) Digest { return sha256.Sum256([]byte(secret)) }

// newSecret makes a secret that nobody can guess.
func newSecret() string {
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails
	text := secretPrefix + inDigits(new(big.Int).SetBytes(random[:]), randomLength)
	return text + checksum(text)
}

// IsSecret reports whether a text has the form of a secret, with the right checksum. No other text can be one.
func IsSecret(text string) bool {
	rest, found := strings.CutPrefix(text, secretPrefix)
	if !found || len(rest) != randomLength+checksumLength || strings.Trim(rest, digits) != "" {
		return false
	}
	end := len(text) - checksumLength
	return text[end:] == checksum(text[:end])
}

func checksum(text string) string {
	return inDigits(big.NewInt(int64(crc32.ChecksumIEEE([]byte(text)))), checksumLength)
}

// inDigits writes a number in base 62, with leading zeros.
func inDigits(number *big.Int, length int) string {
	text := make([]byte, length)
	base, digit := big.NewInt(int64(len(digits))), new(big.Int)
	for i := length - 1; i >= 0; i-- {
		number.DivMod(number, base, digit)
		text[i] = digits[digit.Int64()]
	}
	return string(text)
}
