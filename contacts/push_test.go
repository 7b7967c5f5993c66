package contacts

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
)

// browser is what a browser keeps of its subscription to pushes.
type browser struct {
	key  *ecdh.PrivateKey
	auth []byte
}

func newBrowser(t *testing.T) browser {
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	require.NoError(t, err)
	auth := make([]byte, authBytes)
	_, _ = rand.Read(auth)
	return browser{key, auth}
}

func (b browser) subscription(endpoint string) *openintentv1.NewContact {
	return &openintentv1.NewContact{Kind: toPush, Push: &openintentv1.PushSubscription{
		Endpoint: endpoint, P256Dh: base64.RawURLEncoding.EncodeToString(b.key.PublicKey().Bytes()),
		Auth: base64.RawURLEncoding.EncodeToString(b.auth),
	}}
}

// read decrypts a push as RFC 8291 and RFC 8188 say.
func (b browser) read(t *testing.T, body string) string {
	t.Helper()
	salt, keyLength := []byte(body[:16]), int(body[20])
	sender, rest := []byte(body[21:21+keyLength]), []byte(body[21+keyLength:])
	theirs, err := ecdh.P256().NewPublicKey(sender)
	require.NoError(t, err)
	shared, err := b.key.ECDH(theirs)
	require.NoError(t, err)
	derive := func(secret, salt []byte, info string, length int) []byte {
		key, err := hkdf.Key(sha256.New, secret, salt, info, length)
		require.NoError(t, err)
		return key
	}
	secret := derive(shared, b.auth, "WebPush: info\x00"+string(b.key.PublicKey().Bytes())+string(sender), 32)
	block, err := aes.NewCipher(derive(secret, salt, "Content-Encoding: aes128gcm\x00", 16))
	require.NoError(t, err)
	sealed, err := cipher.NewGCM(block)
	require.NoError(t, err)
	plain, err := sealed.Open(nil, derive(secret, salt, "Content-Encoding: nonce\x00", 12), rest, nil)
	require.NoError(t, err)
	return string(plain[:strings.LastIndexByte(string(plain), 2)])
}

// checkSignature holds a push against the public key of the server.
func checkSignature(t *testing.T, header http.Header, public string, audience string) {
	t.Helper()
	token, given, found := strings.Cut(strings.TrimPrefix(header.Get("Authorization"), "vapid t="), ", k=")
	require.True(t, found)
	require.Equal(t, public, given)
	point, err := base64.RawURLEncoding.DecodeString(public)
	require.NoError(t, err)
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	require.NoError(t, err)
	_, err = jwt.Parse(token, func(*jwt.Token) (any, error) { return key, nil }, jwt.WithAudience(audience), jwt.WithExpirationRequired(),
		jwt.WithSubject("https://openintent.example"))
	require.NoError(t, err)
}

// A browser reads what was pushed, and the push service only that it comes from this server. A subscription that is gone is switched off.
func TestAPointerComesAsAPush(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		b := newBrowser(t)
		listed, err := h.set(b.subscription(h.standIn.URL + "/push/secret-of-the-browser"))
		require.NoError(t, err)
		require.Nil(t, listed.GetContacts()[0].LastProblem)
		require.True(t, strings.HasSuffix(listed.GetContacts()[0].GetShown(), "…wser"))
		sent := decoded(t, b.read(t, h.standIn.take()[0].body))
		require.Equal(t, codeIn(t, sent["body"]), sent["code"], "a page that waits for the code finds it by itself")
		h.prove(listed.GetContacts()[0].GetContactId(), sent["code"])

		id := h.ask("alice")
		posts := h.passes(aMinute)
		require.Len(t, posts, 1)
		require.NotContains(t, posts[0].body, "alice")
		fields := decoded(t, b.read(t, posts[0].body))
		require.Contains(t, fields["body"], "alice waits for an answer of maria")
		require.NotContains(t, fields, "code")
		require.Equal(t, "https://openintent.example/console/messages/"+id, fields["url"])
		require.Equal(t, "3600", posts[0].header.Get("TTL"))
		require.Equal(t, "high", posts[0].header.Get("Urgency"), "a telephone that saves power shows it")
		key, err := h.GetWebPushKey(as("maria"), &openintentv1.GetWebPushKeyRequest{})
		require.NoError(t, err)
		checkSignature(t, posts[0].header, key.GetPublicKey(), h.standIn.URL)

		h.standIn.answer(http.StatusNotFound)
		require.Len(t, h.passes(9*aMinute), 1)
		require.Equal(t, off, h.listed()[0].GetState())
	})
}

// Push services refuse a push that does not say who sends it, as a URL or as a mail address.
func TestAPushSaysWhoSendsIt(t *testing.T) {
	relay, err := NewRelay("smtp://localhost", "openintent@example.com")
	require.NoError(t, err)
	for said, cfg := range map[string]Config{
		"https://openintent.example":  {Address: "https://openintent.example", Mail: relay},
		"openintent@example.com":      {Address: "http://127.0.0.1:8000", Mail: relay},
		"operator@openintent.invalid": {Address: "http://127.0.0.1:8000"},
	} {
		require.Equal(t, said, New(cfg).subscriber())
	}
}

// The pair is made once for all servers.
func TestThePairIsMadeOnce(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		first, err := h.GetWebPushKey(as("maria"), &openintentv1.GetWebPushKeyRequest{})
		require.NoError(t, err)
		second, err := New(h.Config).GetWebPushKey(as("bob"), &openintentv1.GetWebPushKeyRequest{})
		require.NoError(t, err)
		require.Equal(t, first.GetPublicKey(), second.GetPublicKey())
		require.Equal(t, int64(1), h.rows("web_push_keys"))
	})
}

func TestKeysOfNoSubscriptionAreRefused(t *testing.T) {
	b := newBrowser(t)
	point, auth := b.key.PublicKey().Bytes(), base64.StdEncoding.EncodeToString(b.auth)
	require.NoError(t, checkPushKeys(base64.StdEncoding.EncodeToString(point), auth))
	require.Error(t, checkPushKeys(base64.StdEncoding.EncodeToString(point), "short"))
	point[40] ^= 1
	require.Error(t, checkPushKeys(base64.StdEncoding.EncodeToString(point), auth))
	require.Error(t, checkPushKeys("?", auth))
}
