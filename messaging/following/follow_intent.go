package following

import (
	"maps"
	"math"
	"slices"

	"openintent/caller"
	"openintent/channels"
	"openintent/database"
	"openintent/intents"
	"openintent/messaging/reading"
	"openintent/messaging/wake"
)

// IntentScope is one intent, by its number. Its items are its logged events and the messages of all its channels, by their
// positions.
type IntentScope int64

func (n IntentScope) topics() []any { return []any{wake.FeedTopic(n), wake.IntentTopic(n)} }

// look reads the rows in one round trip, and in a second one what decides who sees them.
func (n IntentScope) look(t *Tails, tx *database.Tx, before *sharedPage, agentIDs []string) (*sharedPage, error) {
	r := reading.LogQuery{
		IntentNo: int64(n), After: before.Through, Through: math.MaxInt64, Everyone: true, Limit: tailPage,
	}
	first := before.number == 0
	if first {
		r.Limit = 0
	}
	place, check := before.anchor.prepare(anchoredInIntent, int64(n))
	found, err := t.Reader.ReadLog(tx, r, agentIDs, check...)
	if err != nil {
		return nil, err
	}
	next := &sharedPage{LogPage: *found, exclusions: before.exclusions, agentIDs: agentIDs}
	from, keep := before.Through, !first && !next.stale(before)
	if first {
		from = next.end()
	}
	if keep {
		next.States = make(map[int64]reading.ChannelState, len(before.States)+len(found.States))
		maps.Copy(next.States, before.States)
		maps.Copy(next.States, found.States)
	}
	next.share(before, keep, from, found.Items, found.Through)
	next.hold(before, *place)
	if first || before.Head.Epoch != next.Head.Epoch || !slices.Equal(before.agentIDs, agentIDs) {
		var statement database.Statement
		next.exclusions, statement = channels.PrepareExclusions(tx, int64(n), agentIDs)
		return next, tx.Pipeline(statement)
	}
	return next, nil
}

// take always asks for a look, because the writer does not hand over logged events.
func (n IntentScope) take(*Tails, *sharedPage, *wake.Handover) *sharedPage { return nil }

func (n IntentScope) admit(seen *sharedPage, by caller.Caller) error {
	return seen.Access.Require(by, by.Agent, intents.PermissionRead, seen.Now)
}

func (n IntentScope) cursorAt(_ *database.Tx, _ *sharedPage, position int64) (int64, error) {
	return position, nil
}

func (n IntentScope) read(t *Tails, tx *database.Tx, f *follower) (*reading.LogPage, error) {
	found, err := t.Reader.ReadLog(tx, reading.LogQuery{
		IntentNo: int64(n), After: f.cursor, Through: min(f.seen.Through, f.cursor+reading.MaxSpan),
		Agent: f.by.Agent, Everyone: f.by.IsOperator, Filter: f.filter, Limit: f.limit,
	}, nil)
	if err != nil {
		return nil, err
	}
	return found, found.Access.Require(f.by, f.by.Agent, intents.PermissionRead, found.Now)
}
