package sessions

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzCookie gives the seal arbitrary cookies. Only those that it has signed count.
func FuzzCookie(f *testing.F) {
	var sealed seal
	copy(sealed[:], "the seal of the fuzz test, for it")
	genuine := sealed.newCookie()
	for _, seed := range []string{"", genuine, genuine[1:], genuine + "=", "openintent_session_8000=" + genuine, "\x00", "ä", strings.Repeat("A", cookieLength-4) + "\n\n\r\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, cookie string) {
		if !sealed.signed(cookie) {
			require.Empty(t, sealed.ofSigned([]string{cookie}))
			return
		}
		bytes, err := encoding.DecodeString(cookie)
		require.NoError(t, err)
		require.Equal(t, cookie, encoding.EncodeToString(bytes), "a cookie has one spelling")
		require.Equal(t, bytes[randomBytes:], sealed.sign("session", string(bytes[:randomBytes])))
	})
}

// FuzzSecret gives arbitrary secrets. What counts as one has one spelling.
func FuzzSecret(f *testing.F) {
	for _, seed := range []string{"", newSecret(), "ocs_", "oi_x", "sign-in", "ocs_" + strings.Repeat("A", 42) + "\n", "ocs_" + strings.Repeat("_", 43)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, secret string) {
		if !isSecret(secret) {
			return
		}
		bytes, err := encoding.DecodeString(secret[len(secretPrefix):])
		require.NoError(t, err)
		require.Len(t, bytes, randomBytes)
		require.Equal(t, secret, secretPrefix+encoding.EncodeToString(bytes))
	})
}
