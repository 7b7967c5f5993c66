package webhooks

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestEndpointsThatFailDoNotTakeThePlacesOfOthers(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	arrived := make(chan struct{})
	hanging := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if broken.CompareAndSwap(true, false) {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body) // only then the server notices that the other side left
		close(arrived)
		<-r.Context().Done()
	})
	healthy := serve(t, func(http.ResponseWriter, *http.Request) {})
	s := newSender(t, Config{AllowedNetworks: local})
	assert.True(t, s.Post(t.Context(), to(healthy.URL)).Delivered)
	s.working, s.failing = make(chan struct{}, 1), make(chan struct{}, 1)
	assert.Equal(t, http.StatusBadGateway, s.Post(t.Context(), to(hanging.URL)).Status)

	ctx, cancel := context.WithCancel(t.Context())
	var post sync.WaitGroup
	post.Go(func() { assert.True(t, s.Post(ctx, to(hanging.URL)).Held) })
	<-arrived
	assert.True(t, s.Post(t.Context(), to(healthy.URL)).Delivered)
	cancel()
	post.Wait()
}

// However many new URLs are tried that hang, those that have answered once find places, and a new one that answers is among
// them from then on.
func TestEndpointsThatNeverAnsweredDoNotTakeThePlacesOfOthers(t *testing.T) {
	arrived := make(chan struct{}, Concurrency)
	hanging := raw(t, func(c net.Conn) {
		arrived <- struct{}{}
		untilClosed(c)
	})
	proven := serve(t, func(http.ResponseWriter, *http.Request) {})
	refusing := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	s := newSender(t, Config{AllowedNetworks: local})
	assert.True(t, s.Post(t.Context(), to(proven.URL)).Delivered)
	assert.Equal(t, http.StatusNotFound, s.Post(t.Context(), to(refusing.URL)).Status)
	s.working, s.failing = make(chan struct{}, Concurrency), make(chan struct{}, Concurrency)

	ctx, cancel := context.WithCancel(t.Context())
	var posts sync.WaitGroup
	for range Concurrency {
		posts.Go(func() { assert.True(t, s.Post(ctx, to(hanging)).Held) })
	}
	for range Concurrency {
		<-arrived
	}
	assert.Empty(t, s.working)
	assert.True(t, s.Post(t.Context(), to(proven.URL)).Delivered)
	assert.Equal(t, http.StatusNotFound, s.Post(t.Context(), to(refusing.URL)).Status, "one that refuses works")
	cancel()
	posts.Wait()
}
