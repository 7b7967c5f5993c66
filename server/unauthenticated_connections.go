package server

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

const (
	// mostStrangers is how many connections both ports together keep open on which nobody has shown a key, but never more than this share of
	// the files that the process may have open. One address may have half of them.
	mostStrangers      = 10_000
	shareOfDescriptors = 4
	shareOfOneAddress  = 2
)

// strangers are the connections of both ports on which nobody has shown a key yet. They would otherwise take the descriptors that others and
// the database need. If there are too many, the oldest one is closed: whoever has a key shows it at once, and is no stranger any more.
type strangers struct {
	most, mostOfOne int

	mutex sync.Mutex
	all   *list.List // of *stranger, the oldest first
	of    map[string]*list.List
	https map[net.Conn]*stranger // those of the REST port, which reports the end of a connection by itself
}

// stranger is a connection among the strangers.
type stranger struct {
	among      *strangers
	connection net.Conn
	host       string
	gone       atomic.Bool
	inAll, own *list.Element
}

func newStrangers(most int) *strangers {
	if most == 0 {
		most = mostStrangers
		if descriptors := mostDescriptors(); descriptors > 0 {
			most = min(most, descriptors/shareOfDescriptors)
		}
	}
	return &strangers{
		most: most, mostOfOne: max(most/shareOfOneAddress, 1), all: list.New(), of: make(map[string]*list.List),
		https: make(map[net.Conn]*stranger),
	}
}

// add counts a new connection. If there are too many, of its address or in all, it closes the oldest of these.
func (s *strangers) add(connection net.Conn) *stranger {
	added := &stranger{among: s, connection: connection, host: hostOfAddress(connection.RemoteAddr())}
	s.mutex.Lock()
	own := s.of[added.host]
	if own == nil {
		own = list.New()
		s.of[added.host] = own
	}
	added.inAll, added.own = s.all.PushBack(added), own.PushBack(added)
	var over *stranger
	switch {
	case own.Len() > s.mostOfOne:
		over = own.Front().Value.(*stranger)
	case s.all.Len() > s.most:
		over = s.all.Front().Value.(*stranger)
	}
	s.mutex.Unlock()
	if over != nil && over.leave() {
		_ = over.connection.Close()
	}
	return added
}

// leave takes a connection out, because somebody has shown a key on it, or because it has ended. It reports whether it was still in. A nil
// stranger was never in.
func (s *stranger) leave() bool {
	if s == nil || s.gone.Swap(true) {
		return false
	}
	s.among.mutex.Lock()
	defer s.among.mutex.Unlock()
	s.among.all.Remove(s.inAll)
	own := s.among.of[s.host]
	if own.Remove(s.own); own.Len() == 0 {
		delete(s.among.of, s.host)
	}
	return true
}

type strangerKey struct{}

// watch makes a server of HTTP count its connections.
func (s *strangers) watch(server *http.Server) {
	server.ConnContext = func(ctx context.Context, connection net.Conn) context.Context {
		raw := connection
		if encrypted, ok := connection.(interface{ NetConn() net.Conn }); ok {
			raw = encrypted.NetConn() // closing it never waits for the client
		}
		added := s.add(raw)
		s.mutex.Lock()
		s.https[connection] = added
		s.mutex.Unlock()
		return context.WithValue(ctx, strangerKey{}, added)
	}
	server.ConnState = func(connection net.Conn, state http.ConnState) {
		if state != http.StateClosed && state != http.StateHijacked {
			return
		}
		s.mutex.Lock()
		ended := s.https[connection]
		delete(s.https, connection)
		s.mutex.Unlock()
		ended.leave()
	}
}

// knowConnection says that somebody has shown a key on the connection of a request.
func knowConnection(ctx context.Context) {
	if unknown, _ := ctx.Value(strangerKey{}).(*stranger); unknown != nil && !unknown.gone.Load() {
		unknown.leave()
	}
}

func hostOfAddress(address net.Addr) string {
	host, _, err := net.SplitHostPort(address.String())
	if err != nil {
		return address.String()
	}
	return host
}
