package sessions

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// house is a database with a clock that the test moves, and the services of servers on it: one on SQLite, two on PostgreSQL.
type house struct {
	clock    *databasetest.Clock
	db       *database.DB
	services []*Service
}

// first and last are the two services, or twice the only one.
func (h *house) first() *Service { return h.services[0] }
func (h *house) last() *Service  { return h.services[len(h.services)-1] }

// mostOfKey is how many sessions a key may have in the house.
const mostOfKey = 3

func eachHouse(t *testing.T, run func(t *testing.T, h *house)) {
	t.Helper()
	databasetest.EachURL(t, func(t *testing.T, url string) {
		h := &house{clock: databasetest.NewClock()}
		h.db = databasetest.Open(t, database.Config{URL: url, Clock: h.clock.Now})
		h.services = []*Service{New(Config{DB: h.db, MostOfKey: mostOfKey})}
		if h.db.Engine() == database.PostgreSQL {
			other := databasetest.Open(t, database.Config{URL: url, Clock: h.clock.Now})
			h.services = append(h.services, New(Config{DB: other, MostOfKey: mostOfKey}))
		}
		run(t, h)
	})
}

// keyDigest is that of the key of the house.
var keyDigest = digestOf("the key")

// begin begins a session of alice.
func (h *house) begin(t *testing.T, before ...string) Secrets {
	t.Helper()
	made, err := h.first().Begin(context.Background(), Holder{KeyID: "key", Agent: "alice"}, keyDigest, before)
	require.NoError(t, err)
	return made
}

// found returns a session as a service finds it.
func found(t *testing.T, s *Service, made Secrets) *Session {
	t.Helper()
	session, err := s.Find(context.Background(), []string{made.Cookie}, made.Secret)
	require.NoError(t, err)
	return session
}

// lasts reports whether all services find a session.
func (h *house) lasts(t *testing.T, made Secrets) bool {
	t.Helper()
	first, last := found(t, h.first(), made), found(t, h.last(), made)
	require.Equal(t, first, last)
	return first != nil
}

// keep lets all services do their periodic work.
func (h *house) keep(t *testing.T) {
	t.Helper()
	for _, one := range h.services {
		require.NoError(t, one.Keep(context.Background()))
	}
}

// count returns how many rows a table has.
func (h *house) count(t *testing.T, table string) (rows int) {
	t.Helper()
	require.NoError(t, h.db.Read(context.Background(), func(tx *database.Tx) error {
		return tx.Pipeline(database.ReadValue(&rows, "SELECT count(*) FROM "+table))
	}))
	return rows
}
