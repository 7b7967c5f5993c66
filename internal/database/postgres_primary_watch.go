package database

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A connection to a server that has vanished, or that hangs, looks like one on which the answer takes its time, and it may be
// half a minute until the system gives it up. Meanwhile another server may have become the primary. Or the old primary goes on
// by itself, because whoever was to stop it hangs: what it commits then is lost. So if the URL names several hosts, a watch
// asks each of them every second whether it is the primary, over a connection of its own. PostgreSQL counts in its timeline how
// often a standby has taken over, so of two primaries the one with the higher timeline counts. As soon as another host is the
// primary, the watch closes all connections that lead elsewhere, and whatever waited on them is tried again or fails. New
// connections begin with the host that is the primary, and refuse a server with a lower timeline.

const (
	watchEvery = time.Second
	// watchPatience bounds a look at a host, with the making of the connection.
	watchPatience = 2 * time.Second
)

// timelineOf reads a server's timeline if it is a primary, and otherwise 0.
const timelineOf = "SELECT CASE WHEN pg_is_in_recovery() THEN 0" +
	" ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int8 END"

// errOutdated refuses a server that was the primary before another one took over.
var errOutdated = errors.New("another server of the database has become the primary since")

// primaryWatch knows which of a URL's hosts is the primary.
type primaryWatch struct {
	hosts  []*watchedHost
	logger *slog.Logger
	// moved is called when the watch has found the primary, or another one, after the connections to others are closed.
	moved func()
	moves atomic.Int64 // how often
	stop  context.CancelFunc
	done  sync.WaitGroup

	mutex       sync.Mutex
	primary     *watchedHost // nil until the first look found one
	timeline    int64        // of the primary
	connections map[*watchedConnection]struct{}
}

// watchedHost is a host of the URL, with the configuration that leads to it alone.
type watchedHost struct {
	config *pgx.ConnConfig
	// address is where the watch's connection leads, as dialed.
	address string
	// looked is true once there was a look, whatever it found. claimed is when the host last said that it is the primary. timeline is what
	// the latest look found.
	looked   bool
	claimed  time.Time
	timeline int64
}

// watchedConnection is a connection that the watch can close.
type watchedConnection struct {
	net.Conn
	watch   *primaryWatch
	address string
}

// Close implements net.Conn.
func (c *watchedConnection) Close() error {
	c.watch.mutex.Lock()
	_, open := c.watch.connections[c]
	delete(c.watch.connections, c)
	c.watch.mutex.Unlock()
	if !open { // the watch has closed it
		return nil
	}
	return c.Conn.Close()
}

// newPrimaryWatch makes a watch for a URL with several hosts, or nil. It changes the configuration so that the watch knows of
// all connections that are made with it.
func newPrimaryWatch(config *pgx.ConnConfig, to target, logger *slog.Logger, moved func()) *primaryWatch {
	hosts := hostsOf(config)
	if len(hosts) < 2 || to == "any" {
		return nil
	}
	w := &primaryWatch{logger: logger, moved: moved, connections: make(map[*watchedConnection]struct{})}
	for _, routes := range hosts {
		host := &watchedHost{config: config.Copy()}
		use(&host.config.Config, routes)
		host.config.ValidateConnect = nil
		dial := config.DialFunc
		host.config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			w.mutex.Lock()
			host.address = address
			w.mutex.Unlock()
			return dial(ctx, network, address)
		}
		w.hosts = append(w.hosts, host)
	}
	config.DialFunc = w.dialing(config.DialFunc)
	return w
}

// hostsOf returns the ways to each host that a configuration names: with and without TLS, say.
func hostsOf(config *pgx.ConnConfig) (hosts [][]*pgconn.FallbackConfig) {
	first := &pgconn.FallbackConfig{Host: config.Host, Port: config.Port, TLSConfig: config.TLSConfig}
	for _, route := range append([]*pgconn.FallbackConfig{first}, config.Fallbacks...) {
		index := slices.IndexFunc(hosts, func(known []*pgconn.FallbackConfig) bool {
			return known[0].Host == route.Host && known[0].Port == route.Port
		})
		if index < 0 {
			hosts = append(hosts, nil)
			index = len(hosts) - 1
		}
		hosts[index] = append(hosts[index], route)
	}
	return hosts
}

// use makes a configuration lead along these routes, in their order.
func use(config *pgconn.Config, routes []*pgconn.FallbackConfig) {
	config.Host, config.Port, config.TLSConfig = routes[0].Host, routes[0].Port, routes[0].TLSConfig
	config.Fallbacks = slices.Clone(routes[1:])
}

// dialing makes connections that the watch can close.
func (w *primaryWatch) dialing(dial pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		watched := &watchedConnection{Conn: conn, watch: w, address: address}
		w.mutex.Lock()
		defer w.mutex.Unlock()
		w.connections[watched] = struct{}{}
		return watched, nil
	}
}

// start begins to look at the hosts.
func (w *primaryWatch) start() {
	if w == nil {
		return
	}
	var ctx context.Context
	ctx, w.stop = context.WithCancel(context.Background())
	for _, host := range w.hosts {
		w.done.Go(func() { w.follow(ctx, host) })
	}
}

func (w *primaryWatch) end() {
	if w != nil && w.stop != nil {
		w.stop()
		w.done.Wait()
	}
}

// follow looks at a host until the context ends.
func (w *primaryWatch) follow(ctx context.Context, host *watchedHost) {
	var conn *pgx.Conn
	defer func() {
		if conn != nil {
			closeBeside(conn)
		}
	}()
	for ok := true; ok; ok = pause(ctx, watchEvery) {
		w.note(host, host.look(ctx, &conn))
	}
}

// look returns the host's timeline, or 0 if it is no primary or does not answer.
func (h *watchedHost) look(ctx context.Context, conn **pgx.Conn) (timeline int64) {
	ctx, cancel := context.WithTimeout(ctx, watchPatience)
	defer cancel()
	if *conn == nil {
		var err error
		if *conn, err = pgx.ConnectConfig(ctx, h.config); err != nil {
			*conn = nil
			return 0
		}
	}
	if err := (*conn).QueryRow(ctx, timelineOf).Scan(&timeline); err != nil {
		closeBeside(*conn)
		*conn = nil
		return 0
	}
	return timeline
}

// note notes what a look has found. If the host is the primary that counts, no connection may lead elsewhere.
func (w *primaryWatch) note(host *watchedHost, timeline int64) {
	w.mutex.Lock()
	host.looked, host.timeline = true, timeline
	if timeline > 0 {
		host.claimed = time.Now()
	}
	before := w.primary
	if !w.counts(host) {
		w.mutex.Unlock()
		return
	}
	moved := before != nil && (before != host || timeline > w.timeline)
	w.primary, w.timeline = host, timeline
	astray := w.astray(host)
	w.mutex.Unlock()
	for _, conn := range astray {
		_ = conn.Close()
	}
	if moved {
		w.moves.Add(1)
		w.logger.Warn("a server of the database has become the primary", "host", host.name(), "before", before.name(),
			"timeline", timeline, "connections_closed", len(astray))
	}
	if moved || before == nil {
		w.moved()
	}
}

// counts reports whether a host is the primary that counts, as far as the watch knows. If two claim it with the same timeline, they
// are not of one cluster, or one of them has just become a standby. Then nothing changes.
func (w *primaryWatch) counts(host *watchedHost) bool {
	if host.timeline == 0 || host.timeline < w.timeline {
		return false
	}
	for _, other := range w.hosts {
		if w.primary == nil && !other.looked {
			return false
		}
		if other != host && other.timeline == host.timeline && time.Since(other.claimed) < 3*watchEvery {
			return false
		}
	}
	return true
}

// astray takes the connections that lead to other hosts than the primary.
func (w *primaryWatch) astray(primary *watchedHost) (astray []net.Conn) {
	for conn := range w.connections {
		if conn.address != primary.address {
			astray = append(astray, conn.Conn)
			delete(w.connections, conn)
		}
	}
	return astray
}

func (h *watchedHost) name() string {
	return net.JoinHostPort(h.config.Host, strconv.Itoa(int(h.config.Port)))
}

// prefer makes a configuration begin with the primary, if the watch knows it.
func (w *primaryWatch) prefer(config *pgx.ConnConfig) {
	if w == nil {
		return
	}
	w.mutex.Lock()
	primary := w.primary
	w.mutex.Unlock()
	if primary == nil {
		return
	}
	var first, then []*pgconn.FallbackConfig
	for _, routes := range hostsOf(config) {
		if routes[0].Host == primary.config.Host && routes[0].Port == primary.config.Port {
			first = routes
		} else {
			then = append(then, routes...)
		}
	}
	use(&config.Config, append(first, then...))
}

// refusing adds to the check of a new connection that no other server has become the primary since.
func (w *primaryWatch) refusing(validate pgconn.ValidateConnectFunc) pgconn.ValidateConnectFunc {
	if w == nil {
		return validate
	}
	return func(ctx context.Context, conn *pgconn.PgConn) error {
		if err := validate(ctx, conn); err != nil {
			return err
		}
		w.mutex.Lock()
		newest := w.timeline
		w.mutex.Unlock()
		if newest == 0 {
			return nil
		}
		result := conn.ExecParams(ctx, timelineOf, nil, nil, nil, nil).Read()
		if result.Err != nil {
			return result.Err
		}
		timeline, err := strconv.ParseInt(string(result.Rows[0][0]), 10, 64)
		if err == nil && timeline < newest {
			err = errOutdated
		}
		return err
	}
}
