package server

import (
	"context"
	"net"
	"sync"

	"google.golang.org/grpc/peer"

	"openintent/internal/fault"
)

const (
	// mostPublicStreams is how many streams that need no key may be open in total: watches of health, and reflection.
	mostPublicStreams = 1000
	// mostPublicStreamsOfOne is how many of them one address may have open.
	mostPublicStreamsOfOne = 100
)

var errPublicStreams = fault.New(fault.Quota, "TOO_MANY_PUBLIC_STREAMS",
	"Too many streams that need no key are open, from this address (%d at most) or in all (%d at most); end one first.",
	mostPublicStreamsOfOne, mostPublicStreams)

// publicStreams bounds the streams that need no key. No key is accountable for them, so their number must be limited.
type publicStreams struct {
	mutex sync.Mutex
	all   int
	of    map[string]int
}

func newPublicStreams() *publicStreams { return &publicStreams{of: make(map[string]int)} }

// enter counts a stream of the context's peer, or refuses it. leave must be called once the stream has ended.
func (p *publicStreams) enter(ctx context.Context) (leave func(), _ error) {
	host := hostOf(ctx)
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.all >= mostPublicStreams || p.of[host] >= mostPublicStreamsOfOne {
		return nil, errPublicStreams
	}
	p.all++
	p.of[host]++
	return func() { p.leave(host) }, nil
}

func (p *publicStreams) leave(host string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.all--
	if p.of[host]--; p.of[host] == 0 {
		delete(p.of, host)
	}
}

// hostOf returns the address of the context's peer without its port.
func hostOf(ctx context.Context) string {
	from, ok := peer.FromContext(ctx)
	if !ok || from.Addr == nil {
		return ""
	}
	host, _, err := net.SplitHostPort(from.Addr.String())
	if err != nil {
		return from.Addr.String()
	}
	return host
}
