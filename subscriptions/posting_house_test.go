package subscriptions

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/webhooks"
)

// webhooked lets a house post to this machine, and gives it a JSON encoder, because the server's encoder lies above this room.
func webhooked(s *settings) {
	sender, err := webhooks.New(webhooks.Config{AllowedNetworks: "127.0.0.0/8", Now: s.database.Clock})
	if err != nil {
		panic(err)
	}
	s.room.Webhooks = sender
	s.room.Encode = func(m proto.Message) ([]byte, error) { return protojson.MarshalOptions{UseProtoNames: true}.Marshal(m) }
}

// hook is an endpoint that records what is posted to it.
type hook struct {
	*httptest.Server
	// answer returns the status for a post; hang makes a post wait until the poster gives up.
	answer func(p arrival) int

	mutex sync.Mutex
	posts []arrival
}

const hang = -1

// arrival is one post as its receiver sees it.
type arrival struct {
	ID, Path, Signature, Timestamp string
	Body                           []byte
	SubscriptionID                 string `json:"subscription_id"`
	Event                          struct {
		ID        string `json:"id"`
		IntentID  string `json:"intent_id"`
		EventType string `json:"event_type"`
		Actor     string `json:"actor"`
		CreatedAt string `json:"created_at"`
		Payload   struct {
			ID          string            `json:"id"`
			IntentID    string            `json:"intent_id"`
			ChannelName string            `json:"channel_name"`
			ChannelID   string            `json:"channel_id"`
			To          string            `json:"to"`
			Payload     map[string]string `json:"payload"`
		} `json:"payload"`
	} `json:"event"`
	Status int
}

func (p arrival) text() string { return p.Event.Payload.Payload["text"] }

// newHook starts an endpoint. Without an answer function, it accepts everything.
func newHook(t *testing.T, answer func(p arrival) int) *hook {
	h := &hook{answer: answer}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := arrival{
			ID: r.Header.Get("webhook-id"), Path: r.URL.Path, Signature: r.Header.Get("webhook-signature"),
			Timestamp: r.Header.Get("webhook-timestamp"), Status: http.StatusOK,
		}
		p.Body, _ = io.ReadAll(r.Body)
		if err := json.Unmarshal(p.Body, &p); err != nil {
			t.Errorf("the posted body is not JSON: %v", err)
		}
		if h.answer != nil {
			p.Status = h.answer(p)
		}
		h.mutex.Lock()
		h.posts = append(h.posts, p)
		h.mutex.Unlock()
		if p.Status == hang {
			<-r.Context().Done()
			return
		}
		w.WriteHeader(p.Status)
	}))
	t.Cleanup(func() {
		h.CloseClientConnections() // some connections hang
		h.Close()
	})
	return h
}

// all returns everything that was posted so far.
func (h *hook) all() []arrival {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return append([]arrival(nil), h.posts...)
}

// taken returns the texts that were accepted so far, in the order of arrival.
func (h *hook) taken() []string {
	texts := []string{}
	for _, p := range h.all() {
		if p.Status == http.StatusOK {
			texts = append(texts, p.text())
		}
	}
	return texts
}

// await waits until the endpoint has accepted count posts, and returns their texts.
func (h *hook) await(t *testing.T, count int) []string {
	eventually(t, func() bool { return len(h.taken()) >= count }, "some messages were not posted")
	return h.taken()
}

// requireSigned checks a post's signature as a receiver does, with only the secret.
func requireSigned(t *testing.T, secret string, p arrival) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	require.NoError(t, err)
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte(p.ID + "." + p.Timestamp + "."))
	_, _ = mac.Write(p.Body)
	assert.Equal(t, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)), p.Signature)
}

// resting returns how many subscriptions the poster has examined and lets rest.
func (r rooms) resting() int {
	until, _ := r.subscriptions.poster.Resting()
	return len(until)
}

// posts returns how many subscriptions the poster lets rest or is busy with.
func (r rooms) posts() int {
	until, busy := r.subscriptions.poster.Resting()
	return len(until) + busy
}

// settled waits until every delivery of a subscription up to a number is finished, and returns the subscription.
func (r rooms) settled(t *testing.T, sub *openintentv1.Subscription, through int64) *openintentv1.Subscription {
	eventually(t, func() bool { return r.get(t, sub).GetAcknowledgedThrough() >= through }, "the accepted posts were not stored")
	return r.get(t, sub)
}
