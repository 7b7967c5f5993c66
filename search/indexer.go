package search

import (
	"context"
	"errors"
	"time"

	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/loop"
	"openintent/messaging/message"
)

const (
	// commitLag is the longest time between the moment when a transaction decides and its commit.
	commitLag = time.Minute
	// turnTime is how long one turn of the index may last. It is less than the time after which a replica loses its turn.
	turnTime = 10 * time.Second
	// noteEach is how often the index notes at most up to when it is complete, and noteIdle how often if it lacked nothing.
	noteEach = time.Second
	noteIdle = 10 * time.Second
	// idle is the time after which a replica takes its turn as its first one, because another one may have had it in between.
	idle = 20 * time.Second
	// listedIntents is how many intents one list of those behind has, and sharedMessages how many messages one list indexes of each.
	listedIntents  = 1_000
	sharedMessages = 2_048
	// readIntents is how many intents one reading covers. A reading takes at most so many messages (together), and not many more once
	// their texts have readBytes.
	readIntents = 64
	readBytes   = 1 << 20
	// farBehind is from how many missing entries on the index lets others have the database for as long as it had it itself. With fewer
	// it hurries.
	farBehind = 20_000
)

// errElsewhere ends a turn because another replica has changed the index meanwhile.
var errElsewhere = errors.New("another replica has changed the index of messages; this one goes on at its next turn")

// backlog is an intent whose log is not wholly in the index: what lies after through, up to last.
type backlog struct{ intentNo, through, last int64 }

// indexer fills the index. Only the loop that calls turn uses it. It remembers nothing of what the index has: that is in the database
// and changes with the index.
type indexer struct {
	service *Service
	// complete is true once a list of all intents found none behind. From then on the lists have those that have moved lately.
	complete bool
	lastTurn time.Time
	// version is that of the index when the turn last looked. The index refuses changes by whoever knows another one.
	version int64
	filling bool
	// far is true if the index is far behind.
	far bool
	// together is how many messages one transaction indexes at most.
	together int
	// unmerged is how many documents came since the index last tidied up.
	unmerged int
}

func newIndexer(s *Service) *indexer {
	together := 2_048
	if s.db.Engine() == database.SQLite {
		together = 256 // while the index writes, sends wait
	}
	return &indexer{service: s, together: together}
}

// turn indexes what is behind, at most for some seconds. It leaves what comes meanwhile to the next turn, so that there is enough of it
// for one transaction.
func (x *indexer) turn(ctx context.Context) error {
	began := x.service.db.Now()
	if began.Sub(x.lastTurn) > idle {
		x.complete = false
	}
	err := x.work(ctx, began.Add(turnTime))
	x.lastTurn = x.service.db.Now()
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
	for {
		list, err := x.list(ctx)
		if err != nil {
			return err
		}
		x.tell(list)
		if len(list.behind) > 0 {
			list.whole, err = x.index(ctx, list, until)
		}
		if err == nil {
			err = x.clear(ctx)
		}
		if err != nil {
			return err
		}
		if list.whole {
			if err := x.settle(ctx, list); err != nil {
				return err
			}
		}
		if list.whole || ctx.Err() != nil || !x.service.db.Now().Before(until) {
			return ctx.Err()
		}
	}
}

// list is what one look at the heads found.
type list struct {
	// asOf is a time before the look: whatever was acknowledged by then is in the logs as they were.
	asOf    time.Time
	behind  []backlog
	through int64 // search_state.complete_through
	// looked is true if there were heads to look at, behind or not.
	looked bool
	// whole is true if the list has all that were behind; later, if all of them are indexed.
	whole bool
}

// behindSQL selects the heads whose logs are not in the index as they are.
const behindSQL = " FROM intent_heads h LEFT JOIN search_cursors c ON c.intent_no = h.intent_no" +
	" WHERE h.last_position <> COALESCE(c.position, 0) AND "

// list finds the intents that are behind, those that moved last first.
func (x *indexer) list(ctx context.Context) (found list, err error) {
	found.asOf = x.service.db.Now()
	err = x.service.db.ReadFor(ctx, caller.ReaderOf(ctx, ""), func(tx *database.Tx) error {
		found.behind, found.looked = nil, false
		if err := tx.Pipeline(database.Statement{
			SQL:  "SELECT version, complete_through FROM search_state WHERE one = 1",
			Scan: func(row database.Row) error { return row.Scan(&x.version, &found.through) },
		}); err != nil {
			return err
		}
		since := time.Unix(0, 0)
		if x.complete {
			since = message.Earliest(database.Time(found.through), found.asOf).Add(-commitLag)
		}
		moved, argument := intents.MovedSince(since)
		return tx.Pipeline(database.ReadValue(&found.looked,
			"SELECT EXISTS (SELECT 1 FROM intent_heads h WHERE "+moved+")", argument,
		), database.Statement{
			SQL:  "SELECT h.intent_no, COALESCE(c.position, 0), h.last_position" + behindSQL + moved + " ORDER BY h.moved_in DESC LIMIT ?",
			Args: []any{argument, listedIntents},
			Scan: func(row database.Row) error {
				var b backlog
				err := row.Scan(&b.intentNo, &b.through, &b.last)
				found.behind = append(found.behind, b)
				return err
			},
		})
	})
	found.whole = len(found.behind) < listedIntents
	return found, err
}

// index indexes what a list has, of each intent at most sharedMessages messages, and tells whether that was all.
func (x *indexer) index(ctx context.Context, l list, until time.Time) (whole bool, err error) {
	whole = l.whole
	shares := make(map[int64]int)
	for waiting := l.behind; len(waiting) > 0; {
		if ctx.Err() != nil || !x.service.db.Now().Before(until) {
			return false, ctx.Err()
		}
		some := waiting[:min(readIntents, len(waiting))]
		began := x.service.db.Now()
		batch, err := x.read(ctx, some)
		if err == nil {
			err = x.store(ctx, batch)
		}
		if err != nil {
			return false, err
		}
		x.service.indexed.Add(int64(len(batch.documents)))
		rest := make([]backlog, 0, len(waiting))
		for i, b := range some {
			if b.through = batch.through[i]; b.through >= b.last {
				continue
			}
			if shares[b.intentNo] += batch.taken[i]; shares[b.intentNo] >= sharedMessages {
				whole = false
				continue
			}
			rest = append(rest, b)
		}
		waiting = append(rest, waiting[len(some):]...)
		if err := x.rest(ctx, x.service.db.Now().Sub(began)); err != nil {
			return false, err
		}
	}
	return whole, nil
}

// rest leaves the database to others for as long as the index had it, if there is much to do.
func (x *indexer) rest(ctx context.Context, worked time.Duration) error {
	if !x.far {
		return ctx.Err()
	}
	return loop.Rest(ctx, worked)
}

// settle notes that the index has all that a list found, unless it noted that just now. It also notes that nothing was behind, as long as
// the next list would look at the same heads again. So a list never looks long at intents that do not move.
func (x *indexer) settle(ctx context.Context, l list) error {
	x.complete = true
	each := noteEach
	if len(l.behind) == 0 {
		each = noteIdle
	}
	if l.through > 0 && (!l.looked || l.asOf.Sub(database.Time(l.through)) < each) {
		return nil
	}
	return x.service.db.Write(ctx, func(tx *database.Tx) error {
		return x.change(tx, database.Micros(l.asOf))
	})
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

// tell says in the log when the index begins and ends to be filled, and notes how far it is behind.
func (x *indexer) tell(l list) {
	var entries int64
	for _, b := range l.behind {
		entries += max(b.last-b.through, 0)
	}
	x.service.behind.Store(entries)
	x.far = entries > farBehind || !l.whole
	switch {
	case !x.filling && l.through == 0 && entries > 0:
		x.filling = true
		x.service.logger.Info("the search index is being filled; until it is complete, searches find a part of the messages",
			"entries", entries, "all_intents", l.whole)
	case x.filling && l.through > 0:
		x.filling = false
		x.service.logger.Info("the search index is complete")
	}
}
