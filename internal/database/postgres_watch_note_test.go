package database

import (
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// watching is a watch of the hosts a and b with a connection to each of them. Nothing leads anywhere.
type watching struct {
	*primaryWatch
	told int // how often it told that there is a primary, or another one
}

func watchTwo() *watching {
	w := &watching{primaryWatch: &primaryWatch{
		logger: slog.New(slog.DiscardHandler), connections: make(map[*watchedConnection]struct{}),
	}}
	w.moved = func() { w.told++ }
	for _, name := range []string{"a", "b"} {
		config := &pgx.ConnConfig{Config: pgconn.Config{Host: name}}
		w.hosts = append(w.hosts, &watchedHost{config: config, address: name})
		near, _ := net.Pipe()
		w.connections[&watchedConnection{Conn: near, watch: w.primaryWatch, address: name}] = struct{}{}
	}
	return w
}

// open returns to which hosts the connections lead.
func (w *watching) open() (names string) {
	for _, host := range w.hosts {
		for conn := range w.connections {
			if conn.address == host.address {
				names += host.address
			}
		}
	}
	return names
}

// look is what one look at a host finds, a second after the look before it.
type look struct {
	host     int
	timeline int64
}

const (
	a, b    = 0, 1
	standby = 0 // also what does not answer
)

// Which host counts as the primary follows from what the looks find, one each second. PostgreSQL's own servers are in
// postgres_primary_watch_test.go.
func TestWhichHostIsThePrimary(t *testing.T) {
	away := make([]look, 60) // of b, for a minute
	for i := range away {
		away[i] = []look{{b, standby}, {a, 1}}[i%2]
	}
	for name, row := range map[string]struct {
		looks   []look
		primary string
		open    string // where connections may lead afterwards
		told    int
	}{
		"nobody, until all were asked":                       {[]look{{a, 1}, {a, 1}}, "", "ab", 0},
		"the one that is no standby":                         {[]look{{a, 1}, {b, standby}, {a, 1}}, "a", "a", 1},
		"nobody, if all are standbys":                        {[]look{{a, standby}, {b, standby}, {a, standby}}, "", "ab", 0},
		"the same one, while nothing happens":                {[]look{{b, standby}, {a, 1}, {b, standby}, {a, 1}}, "a", "a", 1},
		"the same one, restored under another timeline":      {[]look{{b, standby}, {a, 1}, {a, 2}}, "a", "a", 2},
		"the one that has taken over":                        {[]look{{b, standby}, {a, 1}, {b, 2}}, "b", "", 2},
		"not the old one, which does not know it":            {[]look{{b, standby}, {a, 1}, {b, 2}, {a, 1}, {a, 1}}, "b", "", 2},
		"not the old one, however long the new one is away":  {append([]look{{b, standby}, {a, 1}, {b, 2}}, away...), "b", "", 2},
		"not the old one, while the new one says it is none": {[]look{{b, standby}, {a, 1}, {b, 2}, {b, standby}, {a, 1}}, "b", "", 2},
		"the old one, once it has taken over again":          {[]look{{b, standby}, {a, 1}, {b, 2}, {a, standby}, {a, 3}}, "a", "", 3},
		// In one timeline, two that claim it are not of one cluster, or one of them has just become a standby.
		"the first of two that claim it":          {[]look{{b, standby}, {a, 1}, {b, 1}, {a, 1}, {b, 1}, {a, 1}}, "a", "a", 1},
		"the second, once the first is a standby": {[]look{{b, standby}, {a, 1}, {b, 1}, {a, standby}, {b, 1}}, "b", "", 2},
		"the second, if the first has not been heard of for three seconds": {
			[]look{{b, standby}, {a, 1}, {b, standby}, {b, standby}, {b, 1}}, "b", "", 2,
		},
		"the first, if it was heard of before that": {[]look{{b, standby}, {a, 1}, {b, standby}, {b, 1}}, "a", "a", 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := watchTwo()
				for _, one := range row.looks {
					<-time.After(watchEvery)
					w.note(w.hosts[one.host], one.timeline)
				}
				primary := ""
				if w.primary != nil {
					primary = w.primary.address
				}
				require.Equal(t, row.primary, primary)
				require.Equal(t, row.open, w.open())
				require.Equal(t, row.told, w.told)
				require.EqualValues(t, max(0, row.told-1), w.moves.Load())
			})
		})
	}
}
