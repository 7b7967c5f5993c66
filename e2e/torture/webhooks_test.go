package torture

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"
)

// post is a receiver of webhooks. It refuses some deliveries, and accepts some without telling the sender.
type post struct {
	*following
	mutex        sync.Mutex
	subscription string
	key          []byte
	connection   *Connection
}

// receivePosts creates a webhook subscription for an agent and receives its posts.
func (w *world) receivePosts(ctx context.Context, agent string, of scope) {
	p := &post{}
	receiver := httptest.NewServer(p)
	w.t.Cleanup(receiver.Close)
	p.mutex.Lock() // no post is handled before the secret is known
	defer p.mutex.Unlock()
	f, subscription := w.create(ctx, agent, "webhook", of, proto.String(receiver.URL+"/hook"))
	f.client = w.client(agent, f.receiver.Name)
	f.receiver.Guarantee = InOrder
	p.following, p.subscription = f, subscription.GetId()
	p.connection = f.connect(f.receiver, 0, f.now())
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(subscription.GetSecret(), "whsec_"))
	if err != nil {
		w.problem("the secret of %s is %q", f.receiver.Name, subscription.GetSecret())
	}
	p.key = key
}

func (p *post) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sender was cut off
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.once(25) { // it is refused
		w.WriteHeader([]int{http.StatusInternalServerError, http.StatusTooManyRequests, http.StatusFound}[p.random.IntN(3)])
		return
	}
	delivery, err := p.read(r.Header, body)
	if err != nil {
		p.problem("%s was posted %q: %v", p.receiver.Name, body, err)
		return
	}
	if delivery.Message != nil {
		p.take(r.Context(), p.connection, delivery)
	}
	if p.once(25) { // it is accepted, but the sender does not learn that
		panic(http.ErrAbortHandler)
	}
}

// read verifies the signature of a post according to Standard Webhooks, and reads the delivery.
func (p *post) read(header http.Header, body []byte) (Delivery, error) {
	id := header.Get("Webhook-Id")
	mac := hmac.New(sha256.New, p.key)
	_, _ = fmt.Fprintf(mac, "%s.%s.%s", id, header.Get("Webhook-Timestamp"), body)
	signature := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	if header.Get("Webhook-Signature") != signature {
		return Delivery{}, fmt.Errorf("its signature is %q", header.Get("Webhook-Signature"))
	}
	var posted struct {
		SubscriptionID string `json:"subscription_id"`
		Event          jsonMessage
	}
	if err := json.Unmarshal(body, &posted); err != nil {
		return Delivery{}, err
	}
	number, err := strconv.ParseInt(strings.TrimPrefix(id, p.subscription+"_"), 10, 64)
	if err != nil || posted.SubscriptionID != p.subscription {
		return Delivery{}, fmt.Errorf("its id is %q, and its subscription %q", id, posted.SubscriptionID)
	}
	content := &posted.Event
	if posted.Event.EventType == messageEvent {
		content = &jsonMessage{}
		if err := json.Unmarshal(posted.Event.Payload, content); err != nil {
			return Delivery{}, err
		}
	}
	message, err := content.message()
	return Delivery{Message: message, Cursor: number, EventID: id}, err
}
