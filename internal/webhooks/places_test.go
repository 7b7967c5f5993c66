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
	var posts atomic.Int32
	arrived := make(chan struct{})
	hanging := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch posts.Add(1) {
		case 1:
			return
		case 2:
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
	assert.True(t, s.Post(t.Context(), to(hanging.URL)).Delivered, "it worked once")
	assert.Equal(t, http.StatusBadGateway, s.Post(t.Context(), to(hanging.URL)).Status)

	ctx, cancel := context.WithCancel(t.Context())
	var post sync.WaitGroup
	post.Go(func() { assert.True(t, s.Post(ctx, to(hanging.URL)).PutOff) })
	<-arrived
	assert.True(t, s.Post(t.Context(), to(healthy.URL)).Delivered)
	cancel()
	post.Wait()
}

// However many new URLs hang, endpoints that have answered once find places. A new endpoint that answers is one of them from
// then on.
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
		posts.Go(func() { assert.True(t, s.Post(ctx, to(hanging)).PutOff) })
	}
	for range Concurrency {
		<-arrived
	}
	assert.Empty(t, s.working)
	assert.True(t, s.Post(t.Context(), to(proven.URL)).Delivered)
	assert.Equal(t, http.StatusNotFound, s.Post(t.Context(), to(refusing.URL)).Status, "an endpoint that refuses a post works")
	cancel()
	posts.Wait()
}

func TestPostsToOneEndpointAreBounded(t *testing.T) {
	arrived := make(chan struct{}, 3*Concurrency)
	proceed := make(chan struct{})
	var under, most atomic.Int32
	server := serve(t, func(http.ResponseWriter, *http.Request) {
		now := under.Add(1)
		for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
		}
		arrived <- struct{}{}
		<-proceed
		under.Add(-1)
	})
	other := serve(t, func(http.ResponseWriter, *http.Request) {})
	s := newSender(t, Config{AllowedNetworks: local})

	var posts sync.WaitGroup
	for range 3 * Concurrency {
		posts.Go(func() { assert.True(t, s.Post(t.Context(), to(server.URL)).Delivered) })
	}
	for range Concurrency {
		<-arrived
	}
	assert.True(t, s.Post(t.Context(), to(other.URL)).Delivered, "a full endpoint does not delay another")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	gone := to(server.URL)
	gone.Body = func(context.Context) []byte {
		assert.Fail(t, "a body is made only once there is a place")
		return nil
	}
	assert.True(t, s.Post(ended, gone).PutOff)
	close(proceed)
	posts.Wait()
	assert.EqualValues(t, Concurrency, most.Load())
}

// Post makes the body right before it sends the request, and there may be nothing to post at that time.
func TestABodyIsMadeWhenThereIsAPlace(t *testing.T) {
	arrived, proceed := make(chan struct{}, Concurrency+1), make(chan struct{})
	server := serve(t, func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-proceed
	})
	s := newSender(t, Config{AllowedNetworks: local})
	var posts sync.WaitGroup
	for range Concurrency {
		posts.Go(func() { assert.True(t, s.Post(t.Context(), to(server.URL)).Delivered) })
	}
	for range Concurrency {
		<-arrived
	}
	var free atomic.Bool
	late := to(server.URL)
	late.Body = func(context.Context) []byte {
		assert.True(t, free.Load(), "all places are taken")
		return nil
	}
	posts.Go(func() { assert.Equal(t, Result{Empty: true}, s.Post(t.Context(), late)) })
	free.Store(true)
	close(proceed)
	posts.Wait()
	assert.Empty(t, arrived)
	assert.Zero(t, s.Resting(server.URL), "the circuit learns nothing about the endpoint")
}

// Who gives up waiting for a place among all posts gives back the place at its endpoint.
func TestWhoFindsNoPlaceAmongAllKeepsNoneAtItsEndpoint(t *testing.T) {
	s := newSender(t, Config{AllowedNetworks: local})
	s.failing = make(chan struct{}) // there is no place
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	one := s.endpoint("one")
	for range 100 { // some of these get the first place
		_, entered := s.enter(ended, one)
		assert.False(t, entered)
		assert.Empty(t, one.places)
	}
}

// Of many endpoints, those stay in memory that were used last.
func TestAnEndpointThatIsUsedIsNotForgotten(t *testing.T) {
	s := newSender(t, Config{AllowedNetworks: local})
	s.endpoints.Resize(2)
	first := s.endpoint("first")
	s.endpoint("second")
	s.endpoint("first")
	s.endpoint("third")
	assert.Same(t, first, s.endpoint("first"))
}
