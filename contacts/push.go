package contacts

import (
	"context"
	"crypto/ecdh"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	webpush "github.com/SherClockHolmes/webpush-go"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/webhooks"
)

const (
	// pushKeptFor is how long a push service keeps a push for a browser that is not there.
	pushKeptFor = time.Hour
	// authBytes is how many bytes the secret of a subscription has.
	authBytes = 16
	// unnamed stands for the operator in the signature of a push if nothing says who that is.
	unnamed = "operator@openintent.invalid"
)

var errPushKeys = errors.New("has keys that are not those of a subscription: p256dh is a point of P-256 and auth has 16 bytes, both in base64")

// checkPushKeys refuses keys for which nothing could be encrypted.
func checkPushKeys(p256dh, auth string) error {
	point, err := fromBase64(p256dh)
	if err != nil {
		return errPushKeys
	}
	if _, err := ecdh.P256().NewPublicKey(point); err != nil {
		return errPushKeys
	}
	if secret, err := fromBase64(auth); err != nil || len(secret) != authBytes {
		return errPushKeys
	}
	return nil
}

// fromBase64 reads either form of base64, with padding or without.
func fromBase64(text string) ([]byte, error) {
	return base64.RawURLEncoding.DecodeString(strings.NewReplacer("+", "-", "/", "_").Replace(strings.TrimRight(text, "=")))
}

// pushKeys are the pair with which the servers sign pushes.
type pushKeys struct{ public, private string }

// GetWebPushKey returns the public key of pushes.
func (s *Service) GetWebPushKey(ctx context.Context, _ *openintentv1.GetWebPushKeyRequest) (*openintentv1.WebPushKey, error) {
	if _, err := caller.Known(ctx); err != nil {
		return nil, err
	}
	keys, err := s.pushKeys(ctx)
	if err != nil {
		return nil, err
	}
	return &openintentv1.WebPushKey{PublicKey: keys.public}, nil
}

// pushKeys reads the pair, or makes it. Of two replicas that make one, the first counts.
func (s *Service) pushKeys(ctx context.Context) (keys pushKeys, err error) {
	read := database.Statement{
		SQL:  "SELECT public_key, private_key FROM web_push_keys WHERE one = 1",
		Scan: func(row database.Row) error { return row.Scan(&keys.public, &keys.private) },
	}
	err = s.DB.ReadStatement(ctx, func(tx *database.Tx) error { return tx.Pipeline(read) })
	if err != nil || keys.public != "" {
		return keys, err
	}
	private, public, err := webpush.GenerateVAPIDKeys()
	if err != nil {
		return keys, err
	}
	err = s.DB.Write(ctx, func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{
			SQL:  "INSERT INTO web_push_keys (one, public_key, private_key, made_at) VALUES (1, ?, ?, ?) ON CONFLICT DO NOTHING",
			Args: []any{public, private, database.Micros(tx.Now())},
		}, read)
	})
	return keys, err
}

// push sends a push to a browser.
func (s *Service) push(ctx context.Context, to *contact, id string, w words) webhooks.Result {
	var subscription webpush.Subscription
	if err := json.Unmarshal([]byte(to.address), &subscription); err != nil {
		return webhooks.Result{Problem: "The subscription to pushes cannot be read."}
	}
	keys, err := s.pushKeys(ctx)
	if err != nil {
		return webhooks.Result{PutOff: true, Problem: "The server could not read its keys for pushes."}
	}
	guarded := &guardedClient{service: s, id: id}
	answer, err := webpush.SendNotificationWithContext(ctx, w.forPush(), &subscription, &webpush.Options{
		HTTPClient: guarded, Subscriber: s.subscriber(), TTL: int(pushKeptFor.Seconds()), Urgency: webpush.UrgencyHigh,
		VAPIDPublicKey: keys.public, VAPIDPrivateKey: keys.private,
	})
	if err != nil {
		return webhooks.Result{Problem: "The push could not be encrypted."}
	}
	defer answer.Body.Close()
	guarded.result.Gone = guarded.result.Gone || guarded.result.Status == http.StatusNotFound // so says RFC 8030
	return guarded.result
}

// subscriber says to push services who sends, as their rules want it.
func (s *Service) subscriber() string {
	switch {
	case strings.HasPrefix(s.Address, "https:"):
		return s.Address
	case s.Mail != nil:
		return s.Mail.from
	}
	return unnamed
}

// guardedClient gives the requests of the library to the sender of webhooks, so that they are guarded as any other.
type guardedClient struct {
	service *Service
	id      string
	result  webhooks.Result
}

// Do posts a request.
func (g *guardedClient) Do(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	g.result = g.service.post(req.Context(), req.URL.String(), g.id, body, req.Header)
	return &http.Response{StatusCode: g.result.Status, Body: http.NoBody}, nil
}
