package keys

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var form = regexp.MustCompile(`^oi_[0-9A-Za-z]{49}$`)

func TestSecretsHaveAFormThatScannersFind(t *testing.T) {
	seen := make(map[string]bool)
	for range 1000 {
		secret := newSecret()
		require.Regexp(t, form, secret)
		require.True(t, IsSecret(secret), secret)
		require.False(t, seen[secret])
		seen[secret] = true
	}
}

func TestOtherTextsAreNoSecrets(t *testing.T) {
	secret := newSecret()
	replaced := func(i int) string {
		digit := "a"
		if secret[i] == 'a' {
			digit = "b"
		}
		return secret[:i] + digit + secret[i+1:]
	}
	for i := range secret {
		require.False(t, IsSecret(replaced(i)), "digit %d is another one", i)
	}
	for _, text := range []string{"", "oi_", secret[:len(secret)-1], secret + "0", " " + secret, strings.ToLower(secret),
		secretPrefix + strings.Repeat("-", randomLength) + checksum(secretPrefix+strings.Repeat("-", randomLength)), strings.Repeat("0", 52)} {
		require.False(t, IsSecret(text), text)
	}
}

func FuzzIsSecret(f *testing.F) {
	f.Add(newSecret())
	f.Add("oi_")
	f.Fuzz(func(t *testing.T, text string) {
		if IsSecret(text) {
			require.Regexp(t, form, text)
		}
	})
}
