package delivering

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"openintent/agents"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging"
	"openintent/subscriptions/ledger"
	"openintent/subscriptions/record"
)

const (
	// passPage is how many intents a pass looks at in one look.
	passPage = 1000
	// passEvery is how often a gatherer makes a pass although nothing asks for that, to find what nothing has told it.
	passEvery = 5 * time.Minute
)

// Progress describes how far a subscription has come and where there is something to gather. It is read in one snapshot.
type Progress struct {
	Sub      *record.Subscription
	Presence agents.Presence
	Now      time.Time
	// unfinished is the number of unfinished deliveries.
	unfinished int64
	// States are those of the intents that the look has read, and positions contains how far each of these is gathered; an intent that is
	// missing there is not gathered at all yet.
	States    map[int64]intents.State
	positions map[int64]int64
	// times tell whether these logs have lost what the gatherer, or the stream's ledger, has read of them.
	times messaging.EntryTimes
	// Anchoring is what was read at the anchor of an own log.
	Anchoring anchoring
	// Ruled are the intents in which the subscriber may see more than at the look before.
	Ruled []int64
	// Backlogs are the intents whose logs have grown beyond what was gathered.
	Backlogs []Backlog
	// More is true if the pass goes on: the next look finds further intents without a wake-up.
	More bool
	// ahead is the state of the stream's ledger, taken before this was read, and offering says what is due. They are set while the
	// stream is ahead.
	ahead    ledger.State
	offering offering
}

// Backlog is an intent with entries that are not gathered yet.
type Backlog struct {
	IntentNo, epoch int64
	// stored is how far the intent is gathered, and through is how far it must be gathered.
	stored, through int64
}

// Look reads a subscription's progress. It reads the intents in which something has happened since the look before, which the watch tells,
// and those that were not gathered to their ends. So what a message costs does not grow with the intents that reach the subscriber.
//
// At first, when something may have happened in any intent, and after a long time, the gatherer makes a pass: some looks that together go
// through all intents that reach the subscriber, and find those that have grown. The watches of the agent share what these intents are.
//
// It returns record.ErrNotFound for a deleted subscription, and record.ErrEnded for one that has ended.
func (g *Gatherer) Look(ctx context.Context, watch *messaging.Watch) (*Progress, error) {
	for {
		moves, err := watch.Look(ctx)
		if err != nil {
			return nil, err
		}
		seen, known, err := g.readProgress(ctx, watch, moves)
		if err != nil {
			g.BeginPass() // what the watch has told is forgotten
			return nil, err
		}
		if known {
			return seen, nil
		}
		g.BeginPass()
		watch.Refresh()
	}
}

// BeginPass lets the next looks go through all intents that reach the subscriber.
func (g *Gatherer) BeginPass() {
	g.Passing, g.passed, g.Behind, g.passBegan = true, 0, nil, record.ProcessTime()
}

// readProgress is look, once the watch has told what has happened. known is false if the subscriber's record is not the one that the watch
// knows.
func (g *Gatherer) readProgress(ctx context.Context, watch *messaging.Watch, moves messaging.Moves) (seen *Progress, known bool, err error) {
	if moves.All || record.ProcessTime().Sub(g.passBegan) > passEvery {
		g.BeginPass()
	}
	few, page := g.toRead(watch, moves)
	more := len(page) == passPage
	var ahead ledger.State
	if g.ledger != nil {
		if ahead, err = g.ledger.State(slices.Concat(few, page)); err != nil {
			return nil, false, err
		}
	}
	var grown map[int64]intents.State
	err = g.supplier.db.ReadFor(ctx, caller.ReaderOf(ctx, g.subscriber), func(tx *database.Tx) (err error) {
		seen, grown, err = g.readIntents(tx, few, page, g.endsOf(slices.Concat(few, page), ahead))
		return err
	})
	if err != nil {
		return nil, false, err
	}
	if len(grown) == record.MaxBehind { // there may be more of them
		at, _ := slices.BinarySearch(page, slices.Max(slices.Collect(maps.Keys(grown))))
		page, more = page[:at+1], true
	}
	maps.Copy(seen.States, grown)
	if seen.ahead = ahead; g.ledger != nil {
		if err := seen.confirm(g.consumer); err != nil {
			return nil, false, err
		}
	}
	if g.wide() && seen.Presence != moves.Presence {
		return nil, false, nil
	}
	g.digest(seen, moves, page, more)
	if state, there := seen.States[g.intentNo]; there && !g.wide() {
		watch.Saw(state)
	}
	return seen, true, nil
}

// readIntents reads the subscription and what is unfinished, a few intents, and those of a page whose logs have grown beyond what is
// gathered, up to a bound. It also reads the times of the entries at the ends of what was read ahead.
func (g *Gatherer) readIntents(
	tx *database.Tx, few, page []int64, ends []messaging.LogEnd,
) (seen *Progress, grown map[int64]intents.State, err error) {
	seen = &Progress{
		Presence: agents.Presence{AgentID: g.subscriber}, Now: tx.Now(),
		States: make(map[int64]intents.State), positions: make(map[int64]int64),
	}
	grown = make(map[int64]intents.State)
	load, loaded := record.PrepareLoad(g.no)
	read, presences := agents.PreparePresences(tx, []string{g.subscriber})
	var compare []database.Statement
	seen.times, compare = messaging.PrepareEntryTimes(tx, ends)
	statements := slices.Concat([]database.Statement{load, read}, g.prepareUnfinished(tx, seen), compare)
	if g.Anchor != nil {
		statements = append(statements, seen.Anchoring.prepare(g.no, *g.Anchor))
	}
	if len(few) > 0 {
		statements = append(statements, prepareGathered(tx, g.no, few, "", seen.States, seen.positions))
	}
	if len(page) > 0 {
		statements = append(statements, prepareGathered(tx, g.no, page, onlyGrown, grown, seen.positions))
	}
	if err := tx.Pipeline(statements...); err != nil {
		return nil, nil, err
	}
	if presence, registered := presences[g.subscriber]; registered {
		seen.Presence = presence
	}
	if seen.Sub, err = loaded(); err == nil && !seen.Sub.Active(seen.Now) {
		err = record.ErrEnded
	}
	return seen, grown, err
}

// toRead returns of which intents a look reads how far they have come: a few that have moved or are not gathered to their ends, and a page
// of the pass.
func (g *Gatherer) toRead(watch *messaging.Watch, moves messaging.Moves) (few, page []int64) {
	if !g.wide() { // its log is always read, because that also reveals lost access and the end
		return []int64{g.intentNo}, nil
	}
	few = slices.AppendSeq(slices.Collect(maps.Keys(moves.Intents)), maps.Keys(g.Behind))
	few = database.Distinct(few)
	if g.Passing && len(g.Behind) < record.MaxBehind {
		page = watch.After(g.passed, passPage)
	}
	return few, page
}

// prepareUnfinished returns the statements that read what is unfinished or, while a stream is ahead, what is due.
func (g *Gatherer) prepareUnfinished(tx *database.Tx, seen *Progress) []database.Statement {
	switch {
	case g.ledger != nil:
		return seen.offering.prepare(tx, g.no, OfferPage)
	case g.Anchor != nil: // nothing of an own log waits to be acknowledged
		return nil
	}
	return []database.Statement{database.ReadValue(&seen.unfinished,
		"SELECT COUNT(*) FROM "+record.UnfinishedOf(tx), g.no)}
}

// onlyGrown leaves those intents whose logs have grown beyond what is gathered, lowest first, up to a bound.
var onlyGrown = " AND h.purged_at IS NULL AND h.last_position > COALESCE(p.position, 0) ORDER BY h.intent_no LIMIT " +
	strconv.Itoa(record.MaxBehind)

// prepareGathered returns the statement that reads the states of some intents and how far a subscription has gathered them. A further
// condition leaves some of them out.
func prepareGathered(
	tx *database.Tx, no int64, intentNos []int64, condition string, states map[int64]intents.State, positions map[int64]int64,
) database.Statement {
	in, argument := tx.In("h.intent_no", intentNos)
	return database.Statement{
		SQL: "SELECT " + intents.StateColumns + ", p.position FROM intent_heads h LEFT JOIN subscription_positions p" +
			" ON p.subscription_no = ? AND p.intent_no = h.intent_no WHERE " + in + condition,
		Args: []any{no, argument},
		Scan: func(row database.Row) error {
			var position *int64
			state, err := intents.ScanState(row, &position)
			states[state.IntentNo] = state
			if position != nil {
				positions[state.IntentNo] = *position
			}
			return err
		},
	}
}

// confirm returns record.ErrConsumerLost if another stream has taken over from the one that is ahead, or if the database has lost
// commits that the stream relies on.
func (seen *Progress) confirm(consumer string) error {
	lost := seen.Sub.Consumer != consumer || seen.Sub.OfferedThrough < seen.ahead.Settled ||
		seen.Sub.ReservedThrough < seen.ahead.End
	for intentNo, state := range seen.States {
		lost = lost || seen.ahead.Positions[intentNo] > state.LastPosition || seen.ahead.Ends[intentNo].Lost(state, seen.times)
	}
	if lost {
		return record.ErrConsumerLost
	}
	return nil
}

// digest finds out from what was read where there is something to gather, and how the pass goes on. more is true when it goes on after the
// page.
func (g *Gatherer) digest(seen *Progress, moves messaging.Moves, page []int64, more bool) {
	if seen.Presence != g.presence {
		clear(g.refused) // its access may also have changed
		g.presence = seen.Presence
	}
	for intentNo, move := range moves.Intents {
		if move.Ruled {
			seen.Ruled = append(seen.Ruled, intentNo)
		}
	}
	seen.Ruled = database.Distinct(append(seen.Ruled, page...))
	if g.Passing && len(g.Behind) < record.MaxBehind {
		if g.Passing = more; more {
			g.passed = page[len(page)-1]
		}
	}
	g.noteLosses(seen)
	if g.ledger != nil {
		g.ledger.LearnPositions(seen.States, seen.positions, g.Scanned)
	}
	g.findBacklogs(seen)
	if g.follows(seen.Sub.Filter.Annotations) || seen.Sub.LastNumber < g.lastNumber || g.renumbered(seen) {
		g.BeginPass() // what was read ahead is read again, and what was numbered and is lost
	}
	g.lastNumber, seen.More = seen.Sub.LastNumber, g.Passing
}

// renumbered reports whether an own log has numbered something else than before.
func (g *Gatherer) renumbered(seen *Progress) bool {
	return g.Anchor != nil && seen.Anchoring.Denies(*g.Anchor)
}

// findBacklogs finds the intents whose logs have grown beyond what was gathered, lowest first, and remembers them for the next look.
func (g *Gatherer) findBacklogs(seen *Progress) {
	g.Behind = make(map[int64]struct{})
	if !g.wide() {
		seen.Backlogs = []Backlog{{IntentNo: g.intentNo, stored: seen.positions[g.intentNo], through: math.MaxInt64}}
		return
	}
	for _, head := range seen.States {
		one := Backlog{IntentNo: head.IntentNo, epoch: head.Epoch, stored: seen.positions[head.IntentNo], through: head.LastPosition}
		if epoch, refused := g.refused[one.IntentNo]; head.Purged || refused && epoch == one.epoch {
			continue
		}
		if one.through > max(one.stored, g.Scanned[one.IntentNo].Through) {
			seen.Backlogs = append(seen.Backlogs, one)
		}
	}
	slices.SortFunc(seen.Backlogs, func(a, b Backlog) int { return cmp.Compare(a.IntentNo, b.IntentNo) })
	if len(seen.Backlogs) > record.MaxBehind {
		seen.Backlogs = seen.Backlogs[:record.MaxBehind]
		last := seen.Backlogs[record.MaxBehind-1].IntentNo
		if !g.Passing || last < g.passed {
			g.Passing, g.passed = true, last
		}
	}
	for _, one := range seen.Backlogs {
		g.Behind[one.IntentNo] = struct{}{}
	}
}
