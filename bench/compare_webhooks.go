package main

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
)

// doPost is a message to everyone on a channel that the server posts to many webhooks.
const doPost = "webhook post"

// posts measures how many posts a second one endpoint gets, which answers at once, from many agents' subscriptions to one
// channel. A unit is one post; the figures' times are those of a message until every subscription has posted it.
func (c *comparison) posts(ctx context.Context) error {
	var open closers
	defer open.close()
	var contests []contest
	for _, engine := range c.engines {
		t, processes, err := c.ownServer(ctx, engine, "webhooks", &open)
		if err != nil {
			return err
		}
		channels, err := t.openChannels(ctx, 1)
		if err != nil {
			return err
		}
		endpoint, err := openEndpoint(ctx, c.audience(), &open)
		if err != nil {
			return err
		}
		if err := t.subscribeEndpoint(ctx, channels[0], endpoint.url, c.audience()); err != nil {
			return err
		}
		contests = append(contests, contest{
			row: row{doPost, viaGRPC + engine, oneChannel}, processes: processes,
			measure: c.perDelivery(func(ctx context.Context) (worker, error) {
				return t.broadcast(ctx, channels[0], &endpoint.arrivals), nil
			}),
		})
	}
	for range c.rounds {
		if err := c.take(ctx, broadcasting, contests); err != nil {
			return err
		}
	}
	return nil
}

// endpoint takes posts, and answers each at once.
type endpoint struct {
	arrivals
	url string

	mutex sync.Mutex
	// posted is how many deliveries of each subscription came, and last is the id of the newest, because posts may come again.
	posted map[string]int
	last   map[string]string
}

// openEndpoint serves an endpoint for as many subscriptions.
func openEndpoint(ctx context.Context, subscriptions int, open *closers) (*endpoint, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	e := &endpoint{
		arrivals: arrivals{streams: int64(subscriptions), complete: make(chan struct{}, underWay)},
		url:      "http://" + listener.Addr().String() + "/", posted: make(map[string]int), last: make(map[string]string),
	}
	server := &http.Server{Handler: e, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	open.add(func() { _ = server.Close() })
	return e, nil
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusNoContent)
	id := r.Header.Get("webhook-id")
	subscription := id[:max(0, strings.LastIndexByte(id, '_'))]
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.last[subscription] == id {
		return
	}
	e.last[subscription] = id
	e.received(e.posted[subscription])
	e.posted[subscription]++
}

// subscribeEndpoint gives n followers a subscription to a channel whose deliveries are posted to an address.
func (t *target) subscribeEndpoint(ctx context.Context, channel, url string, n int) error {
	client := openintentv1.NewSubscriptionServiceClient(t.conn)
	return inParallel(n, func(i int) error {
		_, err := client.CreateSubscription(as(ctx, follower(i)), &openintentv1.CreateSubscriptionRequest{
			ChannelId: &channel, WebhookUrl: &url, AcknowledgeSeconds: proto.Int32(3600),
		})
		return err
	})
}
