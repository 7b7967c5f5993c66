package database_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// replica is one of several processes on a database, as far as notifications are concerned.
type replica struct {
	*database.Notifier
	heard   chan []string
	unheard chan struct{}
}

func newReplica(t *testing.T, url string) *replica {
	r := &replica{heard: make(chan []string, 1000), unheard: make(chan struct{}, 1000)}
	db := openServer(t, database.Config{URL: url})
	r.Notifier = db.Notifier(database.NotifierConfig{
		Channel: "test",
		Heard:   func(notices []string) { r.heard <- notices },
		Unheard: func() { r.unheard <- struct{}{} },
	})
	r.Start()
	t.Cleanup(r.Stop)
	within(t, r.unheard) // by now the replica listens
	return r
}

// hears waits until the replica has heard the given number of notices, and returns them in order.
func (r *replica) hears(t *testing.T, count int) (notices []string) {
	t.Helper()
	for len(notices) < count {
		notices = append(notices, within(t, r.heard)...)
	}
	slices.Sort(notices)
	return notices
}

func TestNoticesReachTheOtherReplicas(t *testing.T) {
	url := databasetest.BlankURL(t, database.PostgreSQL)
	one, two, three := newReplica(t, url), newReplica(t, url), newReplica(t, url)
	one.Tell("ä", "b c", "d")
	require.Equal(t, []string{"b c", "d", "ä"}, two.hears(t, 3))
	require.Equal(t, []string{"b c", "d", "ä"}, three.hears(t, 3))
	two.Tell("e")
	require.Equal(t, []string{"e"}, one.hears(t, 1), "a replica does not hear its own notices")
	require.Equal(t, []string{"e"}, three.hears(t, 1))
}

// A replica that comes later hears notices from then on. Nobody waits for a replica that has gone.
func TestReplicasComeAndGo(t *testing.T) {
	url := databasetest.BlankURL(t, database.PostgreSQL)
	one := newReplica(t, url)
	one.Tell("nobody hears this")
	require.Eventually(t, one.Alone, patience, time.Millisecond)
	for range 3 {
		one.Tell("nobody hears this")
	}
	for i := range 3 {
		other := newReplica(t, url)
		require.Eventually(t, func() bool { return !one.Alone() }, patience, time.Millisecond)
		other.Tell("here")
		require.Equal(t, []string{"here"}, one.hears(t, 1))
		one.Tell(fmt.Sprint("to number ", i))
		heard := other.hears(t, 1)
		if i == 0 && heard[0] == "nobody hears this" { // the first was still under way
			heard = other.hears(t, 1)
		}
		require.Equal(t, []string{fmt.Sprint("to number ", i)}, heard)
		other.Stop()
	}
	require.Empty(t, one.heard, "greetings are not passed on")
}

// A replica that is alone sends no notices. If another replica has begun to listen but its greeting is still under way, it
// learns afterwards that it may have missed something.
func TestWhoComesWhileAnotherIsAloneIsToldToLook(t *testing.T) {
	url := databasetest.BlankURL(t, database.PostgreSQL)
	one := newReplica(t, url)
	const first = "so that it counts the others" // which may still be under way when somebody comes
	one.Tell(first)
	require.Eventually(t, one.Alone, patience, time.Millisecond)

	newcomer, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { require.NoError(t, newcomer.Close(t.Context())) }()
	_, err = newcomer.Exec(t.Context(), "LISTEN test")
	require.NoError(t, err)
	one.Tell("something that happens before the greeting is heard")
	require.True(t, one.Alone())
	_, err = newcomer.Exec(t.Context(), "SELECT pg_notify('test', E'newcomer\n\n')")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		heard, err := newcomer.WaitForNotification(ctx)
		require.NoError(t, err)
		if replica, notices, some := strings.Cut(heard.Payload, "\n"); replica != "newcomer" && notices != first {
			require.False(t, some, "the replica must be told to look at everything, and not %q", notices)
			return
		}
	}
}

func TestManyNoticesArriveAllOrAsOne(t *testing.T) {
	url := databasetest.BlankURL(t, database.PostgreSQL)
	one, two := newReplica(t, url), newReplica(t, url)
	var many []string
	for i := range 5000 {
		many = append(many, fmt.Sprintf("%05d", i))
	}
	one.Tell(many...)
	require.Equal(t, many, two.hears(t, len(many)))
	var tooMany []string
	for i := range 10_000 {
		tooMany = append(tooMany, fmt.Sprintf("%05d", i))
	}
	one.Tell(tooMany...)
	within(t, two.unheard)
	one.Tell("after")
	require.Equal(t, []string{"after"}, two.hears(t, 1))
}

// When connections are lost, both sides come back, and everyone is told to look at everything.
func TestNotifierOutlivesLostConnections(t *testing.T) {
	url := databasetest.BlankURL(t, database.PostgreSQL)
	one, two := newReplica(t, url), newReplica(t, url)
	for i := range 3 {
		one.Tell(fmt.Sprint(i))
		require.Equal(t, []string{fmt.Sprint(i)}, two.hears(t, 1))
		require.NotZero(t, databasetest.KillConnections(t, url))
		within(t, one.unheard)
		within(t, two.unheard)
		one.Tell("lost, or told as anything")
		within(t, two.unheard)
	}
}

// Notices that are told while the database is away leave no trace, except that everyone looks later.
func TestNotifierStopsWithoutATrace(t *testing.T) {
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			db := openScratch(t, database.Config{URL: databasetest.BlankURL(t, engine)})
			before := goleak.IgnoreCurrent()
			listens := make(chan struct{}, 10)
			n := db.Notifier(database.NotifierConfig{
				Channel: "test", Heard: func([]string) {}, Unheard: func() { listens <- struct{}{} },
			})
			n.Stop()
			n.Start()
			n.Tell("something")
			if engine == database.PostgreSQL {
				within(t, listens)
			}
			n.Stop()
			n.Stop()
			goleak.VerifyNone(t, before)
		})
	}
}

// A transaction sends notices only after its commit.
func TestRolledBackTransactionsTellNothing(t *testing.T) {
	url := databasetest.BlankURL(t, database.PostgreSQL)
	one, two := newReplica(t, url), newReplica(t, url)
	db := openServer(t, database.Config{URL: url})
	for _, fails := range []bool{true, false} {
		err := db.Write(t.Context(), func(tx *database.Tx) error {
			tx.AfterCommit(func() { one.Tell(fmt.Sprint("rolled back: ", fails)) })
			if fails {
				return errors.New("rolled back")
			}
			return insertThing(tx, 1)
		})
		require.Equal(t, fails, err != nil)
	}
	require.Equal(t, []string{"rolled back: false"}, two.hears(t, 1))
}

// leads runs work on a replica if that leads, and reports whether the replica did the work.
func leads(t *testing.T, db *database.DB, name string) (worked bool) {
	t.Helper()
	err := db.ByLeader(name, func(context.Context) error {
		worked = true
		return nil
	})(t.Context())
	require.NoError(t, err)
	return worked
}

func TestOneReplicaLeads(t *testing.T) {
	url := databasetest.BlankURL(t, database.PostgreSQL)
	one, two := openServer(t, database.Config{URL: url}), openServer(t, database.Config{URL: url})
	for range 3 {
		require.True(t, leads(t, one, "sweep"))
		require.False(t, leads(t, two, "sweep"))
		require.True(t, leads(t, two, "another sweep"))
		require.False(t, leads(t, one, "another sweep"))
	}
	require.NoError(t, one.Write(t.Context(), func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{SQL: "CREATE SCHEMA elsewhere"})
	}))
	elsewhere := openServer(t, database.Config{URL: url}, "search_path", "elsewhere")
	require.True(t, leads(t, elsewhere, "sweep"), "a program in another schema has leaders of its own")
	require.NoError(t, one.Close())
	require.Eventually(t, func() bool { return leads(t, two, "sweep") }, patience, time.Millisecond, "the other replica takes over")
	err := one.ByLeader("sweep", func(context.Context) error { return nil })(t.Context())
	require.True(t, database.IsUnavailable(err), "%v", err)
}

// Replicas that lost their connections take part again, and one of them works.
func TestALeaderOutlivesLostConnections(t *testing.T) {
	url := databasetest.BlankURL(t, database.PostgreSQL)
	one, two := openServer(t, database.Config{URL: url}), openServer(t, database.Config{URL: url})
	require.True(t, leads(t, one, "sweep"))
	require.False(t, leads(t, two, "sweep"))
	require.NotZero(t, databasetest.KillConnections(t, url))
	require.True(t, leads(t, two, "sweep"), "the first replica has not asked again")
	require.False(t, leads(t, one, "sweep"))
}

// A replica that hangs leads no more.
func TestAnotherReplicaFollowsALeaderThatHangs(t *testing.T) {
	url := databasetest.BlankURL(t, database.PostgreSQL)
	one, two := openServer(t, database.Config{URL: url}), openServer(t, database.Config{URL: url})
	one.SetLeaderPatience(50 * time.Millisecond)
	// On a busy machine the session may end before it is asked for.
	require.Eventually(t, func() bool {
		worked := false
		err := one.ByLeader("sweep", func(context.Context) error {
			worked = true
			return nil
		})(t.Context())
		return err == nil && worked
	}, patience, 5*time.Millisecond)
	require.Eventually(t, func() bool { return leads(t, two, "sweep") }, patience, 5*time.Millisecond)
	one.SetLeaderPatience(patience)
	require.False(t, leads(t, one, "sweep"), "the other replica leads now")
}

func TestSQLiteAlwaysLeads(t *testing.T) {
	db := openScratch(t, database.Config{URL: databasetest.BlankURL(t, database.SQLite)})
	require.True(t, leads(t, db, "sweep"))
	require.True(t, leads(t, db, "sweep"))
}
