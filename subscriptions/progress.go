package subscriptions

import (
	"context"
	"math"
	"slices"
	"time"

	"openintent/agents"
	"openintent/caller"
	"openintent/database"
	"openintent/intents"
	"openintent/messaging/reading"
)

// progress describes how far a subscription has come and where there is something to gather. It is read in one snapshot.
type progress struct {
	// moved is true when only some intents were read (readMoved): those in states.
	moved    bool
	sub      *subscription
	presence agents.Presence
	now      time.Time
	// unfinished is the number of unfinished deliveries.
	unfinished int64
	// intents are those from which something may reach the subscriber. positions contains how far each is gathered; an intent
	// that is missing there is not gathered at all yet.
	intents   []int64
	positions map[int64]int64
	// states are the states of these intents' heads.
	states map[int64]intents.State
	// backlogs are the intents whose logs have grown beyond what was gathered.
	backlogs []backlog
	// ahead is the state of the stream's ledger, taken before this was read, and offering says what is due. They are set while the
	// stream is ahead.
	ahead    ledgerState
	offering offering
}

// backlog is an intent with entries that are not gathered yet.
type backlog struct {
	intentNo, epoch int64
	// stored is how far the intent is gathered, and through is how far it must be gathered.
	stored, through int64
}

// readProgress reads a subscription's progress. It returns errNotFound for a deleted subscription, and errEnded for one that
// has ended.
func (g *gatherer) readProgress(ctx context.Context, subscriber string) (*progress, error) {
	var seen *progress
	var ahead ledgerState
	if g.ledger != nil {
		var err error
		if ahead, err = g.ledger.state(); err != nil {
			return nil, err
		}
	}
	err := g.service.db.ReadFor(ctx, caller.ReaderOf(ctx, subscriber), func(tx *database.Tx) error {
		seen = &progress{presence: agents.Presence{AgentID: subscriber}, now: tx.Now(), ahead: ahead}
		load, loaded := prepareLoad(g.no)
		read, presences := agents.PreparePresences(tx, []string{subscriber})
		followed, readFollowed := prepareFollowed(g.no)
		statements := append([]database.Statement{load, read, readFollowed}, g.prepareProgress(tx, seen)...)
		expected := g.expectReach(tx, subscriber)
		if err := tx.Pipeline(append(statements, expected.statements...)...); err != nil {
			return err
		}
		var err error
		if seen.sub, err = loaded(); err != nil {
			return err
		}
		if presence, registered := presences[subscriber]; registered {
			seen.presence = presence
		}
		if !seen.sub.active(seen.now) {
			return errEnded
		}
		seen.states = followed
		return g.findBacklogs(tx, seen, expected)
	})
	if err == nil && g.ledger != nil {
		err = seen.confirm(g.consumer)
	}
	if err != nil {
		return nil, err
	}
	g.follows(seen.sub.filter.Annotations)
	g.states = seen.states
	if seen.presence != g.presence {
		clear(g.refused) // its access may also have changed
		g.presence = seen.presence
	}
	return seen, nil
}

// prepareProgress returns the statements that read how far each intent is gathered and what is unfinished. While a stream is
// ahead, its ledger knows how far it has come, and the statements read what is due.
func (g *gatherer) prepareProgress(tx *database.Tx, seen *progress) []database.Statement {
	if g.ledger != nil {
		seen.positions = seen.ahead.positions
		return seen.offering.prepare(g.no, seen.now, offerPage)
	}
	seen.positions = make(map[int64]int64)
	read := preparePositions(tx, []int64{g.no}, func(_, intentNo, position int64) { seen.positions[intentNo] = position })
	return []database.Statement{read, database.ReadValue(&seen.unfinished, "SELECT COUNT(*) FROM subscription_deliveries d WHERE "+unfinishedOnly, g.no)}
}

// confirm returns errConsumerLost if another stream has taken over from the one that is ahead, or if the database has lost
// commits that the stream relies on.
func (seen *progress) confirm(consumer string) error {
	lost := seen.sub.consumer != consumer || seen.sub.offeredThrough < seen.ahead.settled ||
		seen.sub.reservedThrough < seen.ahead.end
	for intentNo, state := range seen.states {
		lost = lost || seen.ahead.positions[intentNo] > state.LastPosition
	}
	if lost {
		return errConsumerLost
	}
	return nil
}

func (g *gatherer) findBacklogs(tx *database.Tx, seen *progress, expected reach) error {
	if !seen.sub.wide() { // its log is always read, because that also reveals lost access and the end
		no := seen.sub.intentNo
		g.noteLosses(seen.states)
		seen.intents, seen.backlogs = []int64{no}, []backlog{{intentNo: no, stored: seen.positions[no], through: math.MaxInt64}}
		return nil
	}
	states, err := g.readReach(tx, seen, expected)
	if err != nil {
		return err
	}
	for _, head := range states {
		seen.states[head.IntentNo] = head
	}
	g.forgetUnreached(seen.intents)
	g.noteLosses(seen.states)
	g.addBacklogs(seen, states)
	return nil
}

// reach is where something may reach a wide subscription's subscriber. It is read together with everything else, as if the role and the
// intents were those of the last time. If they are, a look takes one round trip.
type reach struct {
	role       string
	reached    reading.Reach
	intents    []int64
	states     *[]intents.State
	statements []database.Statement
}

// expectReach returns what the gatherer expects. It expects nothing before it has read once.
func (g *gatherer) expectReach(tx *database.Tx, subscriber string) (expected reach) {
	if g.reaching == nil {
		return expected
	}
	expected.role, expected.intents = heldRole(g.presence), g.reaching
	expected.reached, expected.statements = reading.PrepareReach(tx, subscriber, expected.role)
	var read database.Statement
	expected.states, read = intents.PrepareStates(tx, expected.intents)
	expected.statements = append(expected.statements, read)
	return expected
}

// readReach returns the states of the intents from which something may reach the subscriber, and reads again what is not as expected.
func (g *gatherer) readReach(tx *database.Tx, seen *progress, expected reach) ([]intents.State, error) {
	if role := heldRole(seen.presence); expected.states != nil && role == expected.role {
		seen.intents = expected.reached.Intents()
	} else {
		var err error
		if seen.intents, err = reading.ReachingIntents(tx, seen.sub.subscriber, role); err != nil {
			return nil, err
		}
	}
	if expected.states == nil || !slices.Equal(seen.intents, expected.intents) {
		var read database.Statement
		expected.states, read = intents.PrepareStates(tx, seen.intents)
		if err := tx.Pipeline(read); err != nil {
			return nil, err
		}
	}
	g.reaching = append([]int64{}, seen.intents...)
	return *expected.states, nil
}

// heldRole returns the role that the agent holds now, or "".
func heldRole(presence agents.Presence) string {
	if presence.HoldsRole(presence.RoleID) {
		return presence.RoleID
	}
	return ""
}
