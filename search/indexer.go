package search

import (
	"context"
	"errors"
	"time"

	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/loop"
)

const (
	// commitLag is the longest time between the moment when a transaction decides and its commit.
	commitLag = time.Minute
	// runTime is how long one run of the index may last. It is less than the time after which another replica leads.
	runTime = 10 * time.Second
	// noteEach is how often the index notes at most up to when it is complete, and noteIdle how often if it lacked nothing.
	noteEach = time.Second
	noteIdle = 10 * time.Second
	// idle is the time after which a replica takes a run as its first one, because another one may have led in between.
	idle = 20 * time.Second
	// listedIntents is how many intents one list of those behind has.
	listedIntents = 1_000
	// readIntents is how many intents one reading covers. A reading takes at most so many messages (together), and not many more once
	// their texts have readBytes.
	readIntents = 64
	readBytes   = 1 << 20
)

// errElsewhere ends a run because another replica has changed the index meanwhile.
var errElsewhere = errors.New("another replica has changed the index of messages; this one goes on at its next run")

// indexer fills the index. Only the loop that calls run uses it. It remembers nothing of what the index has: that is in the database
// and changes with the index.
type indexer struct {
	service *Service
	lastRun time.Time
	// version is that of the index when the run last looked. The index refuses changes by whoever knows another one.
	version int64
	// together is how many messages one transaction indexes at most.
	together int
	// most is how many entries may be missing at the end of the log of an intent that is kept before the newest come first.
	most int64
	// unmerged is how many documents came since the index last tidied up.
	unmerged int
	// served is the intent up to which those that are kept were served last, so that each has its turn. forgot is when the notes of old
	// searches were last removed.
	served int64
	forgot time.Time
	filler
}

func newIndexer(s *Service) *indexer {
	together := 2_048
	if s.db.Engine() == database.SQLite {
		together = 256 // while the index writes, sends wait
	}
	return &indexer{service: s, together: together, most: much}
}

// run catches up with the intents that are kept and, if the server has nothing else to do, fills in the others; at most for some seconds.
// It leaves what comes meanwhile to the next run, so that there is enough of it for one transaction.
func (x *indexer) run(ctx context.Context) error {
	began := x.service.db.Now()
	if began.Sub(x.lastRun) > idle {
		x.complete = false
	}
	err := x.work(ctx, began.Add(runTime))
	x.lastRun = x.service.db.Now()
	if err != nil {
		x.complete = false
	}
	if errors.Is(err, errElsewhere) {
		x.service.logger.Info(err.Error())
		return nil
	}
	return err
}

func (x *indexer) work(ctx context.Context, until time.Time) error {
	quiet := x.quiet()
	if err := x.forgetKeepers(ctx, x.service.db.Now()); err != nil {
		return err
	}
	done, err := x.catchUp(ctx, until)
	if err == nil {
		err = x.clear(ctx, quiet)
	}
	if err != nil || !done || !quiet {
		return err
	}
	return x.fill(ctx, until)
}

// catchUp indexes what is missing of the intents that are kept, and tells whether that is done.
func (x *indexer) catchUp(ctx context.Context, until time.Time) (done bool, err error) {
	for {
		began := x.service.db.Now()
		behind, err := x.kept(ctx, began)
		if err != nil || len(behind) == 0 {
			return err == nil, err
		}
		some := behind[:min(readIntents, len(behind))]
		x.served = some[len(some)-1].intentNo
		b, err := x.index(ctx, some, x.most)
		if err != nil {
			return false, err
		}
		done = b.all() && len(some) == len(behind)
		worked := x.service.db.Now().Sub(began)
		if err := loop.Rest(ctx, restCatchingUp(worked, len(b.documents), !done)); err != nil || done || !x.service.db.Now().Before(until) {
			return done, err
		}
	}
}

// kept lists the intents that are kept and behind. Those come first whose turn it is. It looks at no others.
func (x *indexer) kept(ctx context.Context, now time.Time) (behind []span, err error) {
	err = x.service.db.ReadFor(ctx, caller.ReaderOf(ctx, ""), func(tx *database.Tx) error {
		behind = nil
		return tx.Pipeline(x.readVersion(nil), database.Statement{
			SQL: "SELECT " + spanColumns + " FROM (SELECT DISTINCT intent_no FROM search_keepers WHERE searched_at >= ?) k" +
				" JOIN intent_heads h ON h.intent_no = k.intent_no" + spanTables + " WHERE " + lacking +
				" ORDER BY CASE WHEN h.intent_no > ? THEN 0 ELSE 1 END, h.intent_no LIMIT ?",
			Args: []any{keptSince(now), x.served, listedIntents},
			Scan: scanSpans(&behind),
		})
	})
	var missing int64
	for _, s := range behind {
		missing += s.missing()
	}
	x.service.behind.Store(missing)
	return behind, err
}

// readVersion returns the statement that reads which version the index has, and up to when it is noted as complete if that is wanted.
func (x *indexer) readVersion(through *int64) database.Statement {
	if through == nil {
		through = new(int64)
	}
	return database.Statement{
		SQL:  "SELECT version, complete_through FROM search_state WHERE one = 1",
		Scan: func(row database.Row) error { return row.Scan(&x.version, through) },
	}
}

// index indexes the next part of some logs.
func (x *indexer) index(ctx context.Context, some []span, most int64) (*batch, error) {
	stretches := make([]stretch, len(some))
	for i, s := range some {
		stretches[i] = s.next(most)
	}
	b, err := x.read(ctx, stretches)
	if err == nil {
		err = x.store(ctx, b)
	}
	if err != nil {
		return nil, err
	}
	x.service.indexed.Add(int64(len(b.documents)))
	return b, nil
}

// change makes another version of the index, which fails if another replica has made one. Further statements run in the same round trip;
// if it fails, what they read does not count.
func (x *indexer) change(tx *database.Tx, completeThrough int64, further ...database.Statement) error {
	var changed int64
	version := x.version
	statements := append(tx.CommitLazily(), database.Statement{
		SQL: "UPDATE search_state SET version = version + 1, complete_through = CASE WHEN CAST(? AS bigint) > 0 THEN CAST(? AS bigint) ELSE complete_through END" +
			" WHERE one = 1 AND version = ?",
		Args:     []any{completeThrough, completeThrough, version},
		Affected: &changed,
	})
	if err := tx.Pipeline(append(statements, further...)...); err != nil {
		return err
	}
	if changed == 0 {
		return errElsewhere
	}
	tx.AfterCommit(func() { x.version = version + 1 })
	return nil
}
