package search

import (
	"context"
	"math"
	"time"

	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/message"
)

// While the server has nothing else to do, the index takes in the intents that nobody has searched lately, too, with a twentieth of a
// processor.

// filler is where the index stands in that.
type filler struct {
	// complete is true once a list of all intents found none behind. From then on the lists have those that have moved lately.
	complete bool
	filling  bool
	// next is when the next piece may come.
	next time.Time
	// concluded is how many messages this server had stored when the index last looked.
	concluded int64
}

// quiet reports whether this server has nothing else to do: no message waits to be stored, and none was stored since the index last looked.
func (x *indexer) quiet() bool {
	concluded := x.service.messaging.Concluded()
	waiting, _ := x.service.messaging.Waiting()
	before := x.concluded
	x.concluded = concluded
	return waiting == 0 && concluded == before
}

// fill indexes a piece of what is missing, if it is time for that, and notes it if nothing is.
func (x *indexer) fill(ctx context.Context, until time.Time) error {
	for {
		began := x.service.db.Now()
		if began.Before(x.next) || !began.Before(until) || ctx.Err() != nil {
			return ctx.Err()
		}
		whole, err := x.fillPiece(ctx)
		now := x.service.db.Now()
		x.next = now.Add(restFilling(now.Sub(began)))
		if err != nil || whole {
			return err
		}
	}
}

func (x *indexer) fillPiece(ctx context.Context) (whole bool, err error) {
	list, err := x.list(ctx)
	if err != nil {
		return false, err
	}
	x.tell(list)
	some := list.behind[:min(readIntents, len(list.behind))]
	if whole = list.whole && len(some) == len(list.behind); len(some) > 0 {
		b, err := x.index(ctx, some, math.MaxInt64)
		if err != nil {
			return false, err
		}
		whole = whole && b.all()
	}
	if whole {
		err = x.settle(ctx, list)
	}
	return whole, err
}

// list is what one look at the heads found.
type list struct {
	// asOf is a time before the look: whatever was acknowledged by then is in the logs as they were.
	asOf    time.Time
	behind  []span
	through int64 // search_state.complete_through
	// looked is true if there were heads to look at, behind or not.
	looked bool
	// whole is true if the list has all that were behind.
	whole bool
}

// list finds the intents that are behind, those that moved last first.
func (x *indexer) list(ctx context.Context) (found list, err error) {
	found.asOf = x.service.db.Now()
	err = x.service.db.ReadFor(ctx, caller.ReaderOf(ctx, ""), func(tx *database.Tx) error {
		found.behind, found.looked = nil, false
		if err := tx.Pipeline(x.readVersion(&found.through)); err != nil {
			return err
		}
		since := time.Unix(0, 0)
		if x.complete {
			since = message.Earliest(database.Time(found.through), found.asOf).Add(-commitLag)
		}
		moved, argument := intents.MovedSince(since)
		var holes []span
		err := tx.Pipeline(database.ReadValue(&found.looked,
			"SELECT EXISTS (SELECT 1 FROM intent_heads h WHERE "+moved+")", argument,
		), database.Statement{
			SQL: "SELECT " + spanColumns + " FROM intent_heads h" + spanTables + " WHERE " + lacking + " AND " + moved +
				" ORDER BY h.moved_in DESC LIMIT ?",
			Args: []any{argument, listedIntents},
			Scan: scanSpans(&found.behind),
		}, database.Statement{
			SQL: "SELECT h.intent_no, COALESCE(c.position, 0), g.low, g.high, h.last_position FROM search_holes g" +
				" JOIN intent_heads h ON h.intent_no = g.intent_no LEFT JOIN search_cursors c ON c.intent_no = g.intent_no LIMIT ?",
			Args: []any{listedIntents},
			Scan: scanSpans(&holes),
		})
		found.behind = withHoles(found.behind, holes)
		return err
	})
	found.whole = len(found.behind) < listedIntents
	return found, err
}

// withHoles adds the intents with holes to those that are behind, unless they are there.
func withHoles(behind, holes []span) []span {
	listed := make(map[int64]struct{}, len(behind))
	for _, s := range behind {
		listed[s.intentNo] = struct{}{}
	}
	for _, s := range holes {
		if _, already := listed[s.intentNo]; !already {
			behind = append(behind, s)
		}
	}
	return behind
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

// tell says in the log when the index begins and ends to be filled.
func (x *indexer) tell(l list) {
	var entries int64
	for _, s := range l.behind {
		entries += s.missing()
	}
	switch {
	case !x.filling && l.through == 0 && entries > 0:
		x.filling = true
		x.service.logger.Info("the search index is being filled while there is nothing else to do; what is searched comes first",
			"entries", entries, "all_intents", l.whole)
	case x.filling && l.through > 0:
		x.filling = false
		x.service.logger.Info("the search index is complete")
	}
}
