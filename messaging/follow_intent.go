package messaging

import (
	"maps"
	"math"
	"slices"

	"openintent/caller"
	"openintent/channels"
	"openintent/database"
	"openintent/intents"
)

// intentScope is one intent, by its number: its logged events and the messages of all its channels, by their positions.
type intentScope int64

func (n intentScope) topics() []any { return []any{feedTopic(n), intentTopic(n)} }

// look reads the rows in one round trip and in a second what deciding on them needs.
func (n intentScope) look(t *tails, tx *database.Tx, before *sight, agentIDs []string) (*sight, error) {
	r := logQuery{
		intentNo: int64(n), after: before.through, through: math.MaxInt64, everyone: true, limit: tailPage,
	}
	first := before.number == 0
	if first {
		r.limit = 0
	}
	place, check := before.anchor.prepare(anchoredInIntent, int64(n))
	found, err := t.Reader.readSection(tx, r, agentIDs, check...)
	if err != nil {
		return nil, err
	}
	next := &sight{section: *found, exclusions: before.exclusions, agentIDs: agentIDs}
	from, keep := before.through, !first && !next.stale(before)
	if first {
		from = next.end()
	}
	if keep {
		next.talks = make(map[int64]talk, len(before.talks)+len(found.talks))
		maps.Copy(next.talks, before.talks)
		maps.Copy(next.talks, found.talks)
	}
	next.share(before, keep, from, found.items, found.through)
	next.hold(before, *place)
	if first || before.head.Epoch != next.head.Epoch || !slices.Equal(before.agentIDs, agentIDs) {
		var statement database.Statement
		next.exclusions, statement = channels.PrepareExclusions(tx, int64(n), agentIDs)
		return next, tx.Pipeline(statement)
	}
	return next, nil
}

// take looks: the logged events are not handed over.
func (n intentScope) take(*tails, *sight, *handover) *sight { return nil }

func (n intentScope) admit(seen *sight, by caller.Caller) error {
	return seen.access.Require(by, by.Agent, intents.PermissionRead, seen.now)
}

func (n intentScope) cursorAt(_ *database.Tx, _ *sight, position int64) (int64, error) {
	return position, nil
}

func (n intentScope) read(t *tails, tx *database.Tx, f *follower) (*section, error) {
	found, err := t.Reader.readSection(tx, logQuery{
		intentNo: int64(n), after: f.cursor, through: min(f.seen.through, f.cursor+maxSpan),
		agent: f.by.Agent, everyone: f.by.IsOperator, filter: f.filter, limit: f.limit,
	}, nil)
	if err != nil {
		return nil, err
	}
	return found, found.access.Require(f.by, f.by.Agent, intents.PermissionRead, found.now)
}
