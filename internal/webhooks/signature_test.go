package webhooks

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// This is the test vector that the Standard Webhooks libraries share.
func TestSignaturesAreThoseOfStandardWebhooks(t *testing.T) {
	signature, err := sign("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek",
		time.Unix(1614265330, 999), []byte(`{"test": 2432232314}`))
	require.NoError(t, err)
	assert.Equal(t, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", signature)
}

func TestSecretsAreNewAndOfTheStandardForm(t *testing.T) {
	first, second := NewSecret(), NewSecret()
	assert.NotEqual(t, first, second)
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(first, "whsec_"))
	require.NoError(t, err)
	assert.Len(t, key, 32)
	assert.True(t, strings.HasPrefix(first, "whsec_"))
}

func TestSecretsOfAnotherFormSignNothing(t *testing.T) {
	secretOf := func(bytes int) string { return "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, bytes)) }
	for _, secret := range []string{"", "whsec_", "whsec_!!!", secretOf(23), secretOf(65), strings.TrimPrefix(secretOf(32), "whsec_")} {
		_, err := sign(secret, "id", time.Unix(1, 0), nil)
		require.ErrorIs(t, err, errSecret)
	}
	for _, secret := range []string{secretOf(24), secretOf(64)} {
		_, err := sign(secret, "id", time.Unix(1, 0), nil)
		assert.NoError(t, err)
	}
}
