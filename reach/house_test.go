package reach_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/reach"
)

// house is a database with a clock that the test moves, and replicas on it: one on SQLite, two on PostgreSQL.
type house struct {
	clock    *databasetest.Clock
	faults   databasetest.CommitFaults
	replicas []*replica
}

// replica is one server's share of the house.
type replica struct {
	*reach.Here
	db *database.DB
}

func eachHouse(t *testing.T, run func(t *testing.T, h *house)) {
	t.Helper()
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			h := &house{clock: databasetest.NewClock()}
			url := databasetest.URL(t, engine)
			h.open(t, url)
			if engine == database.PostgreSQL {
				h.open(t, url)
			}
			run(t, h)
		})
	}
}

func (h *house) open(t *testing.T, url string) {
	t.Helper()
	db := databasetest.Open(t, database.Config{URL: url, Clock: h.clock.Now, Hooks: h.faults.Hooks()})
	h.replicas = append(h.replicas, &replica{reach.New(reach.Config{DB: db}), db})
}

// first and last are the two replicas, or twice the only one.
func (h *house) first() *replica { return h.replicas[0] }
func (h *house) last() *replica  { return h.replicas[len(h.replicas)-1] }

// keep lets all replicas write.
func (h *house) keep(t *testing.T) {
	t.Helper()
	for _, one := range h.replicas {
		require.NoError(t, one.Keep(t.Context()))
	}
}

// pass lets time pass, in steps in which the replicas among living write.
func (h *house) pass(t *testing.T, time time.Duration, living ...*replica) {
	t.Helper()
	for range int(time.Seconds()) {
		h.clock.Advance(second)
		for _, one := range living {
			require.NoError(t, one.Keep(t.Context()))
		}
	}
}

const second = time.Second

// read returns an agent's reach as a replica sees it.
func (r *replica) read(t *testing.T, agent string) *reach.Reach {
	t.Helper()
	var found map[string]*reach.Reach
	require.NoError(t, r.db.Read(t.Context(), func(tx *database.Tx) (err error) {
		found, err = r.Read(tx, []string{agent})
		return err
	}))
	return found[agent]
}

// calling is the context of a call of an agent at a replica.
func (r *replica) calling(agent string, asked bool) context.Context {
	return reach.WithHearing(context.Background(), &reach.Hearing{Here: r.Here, Agent: agent, Asked: asked})
}

// heard is a call of any kind.
func (r *replica) heard(agent string) { r.Of(agent).Note(agent, r.Now()) }

// kinds are those of the open paths.
func kinds(found *reach.Reach) (kinds []reach.Kind) {
	for _, path := range found.Paths {
		kinds = append(kinds, path.Kind)
	}
	return kinds
}

// newMemoryHouse is a replica on its own, on a database in memory, for tests in a bubble of time.
func newMemoryHouse(t *testing.T) *replica {
	t.Helper()
	db := databasetest.Open(t, database.Config{URL: "sqlite::memory:"})
	return &replica{reach.New(reach.Config{DB: db}), db}
}
