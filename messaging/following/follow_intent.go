package following

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"openintent/channels"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/message"
	"openintent/messaging/reading"
	"openintent/messaging/wake"
)

// IntentScope is one intent, by its number. Its items are its logged events and the messages of all its channels, by their
// positions.
type IntentScope int64

func (n IntentScope) topics() []any { return []any{wake.FeedTopic(n), wake.IntentTopic(n)} }

func (n IntentScope) look(t *Tails, tx *database.Tx, before *sharedPage, agentIDs []string) (*sharedPage, error) {
	return lookAtLog(t, tx, before, agentIDs, reading.LogQuery{IntentNo: int64(n), Through: math.MaxInt64})
}

// lookAtLog reads what a query finds in an intent's log after the page before: the rows in one round trip, and in a second one
// what decides who sees them.
func lookAtLog(t *Tails, tx *database.Tx, before *sharedPage, agentIDs []string, r reading.LogQuery) (*sharedPage, error) {
	r.After, r.Everyone, r.Limit = before.Through, true, tailPage
	first := before.number == 0
	if first {
		r.Limit, r.Through = 0, math.MaxInt64
	}
	place, check := before.anchor.prepare(anchoredInIntent, r.IntentNo)
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
	if r.ChannelNo != 0 { // whoever takes no part in the channel is refused
		return next, nil
	}
	if first || before.Head.Epoch != next.Head.Epoch || !slices.Equal(before.agentIDs, agentIDs) {
		var statement database.Statement
		next.exclusions, statement = channels.PrepareExclusions(tx, r.IntentNo, agentIDs)
		return next, tx.Pipeline(statement)
	}
	return next, nil
}

func (n IntentScope) admit(seen *sharedPage, by caller.Caller) error {
	return seen.Access.Require(by, by.Agent, intents.PermissionRead, seen.Now)
}

func (n IntentScope) cursorAt(_ *database.Tx, _ *sharedPage, position int64) (int64, error) {
	return position, nil
}

func (n IntentScope) read(t *Tails, tx *database.Tx, f *follower) (*reading.LogPage, error) {
	found, err := f.readLog(t, tx, reading.LogQuery{IntentNo: int64(n)})
	if err != nil {
		return nil, err
	}
	return found, found.Access.Require(f.by, f.by.Agent, intents.PermissionRead, found.Now)
}

// readLog reads what a query finds in an intent's log after the cursor.
func (f *follower) readLog(t *Tails, tx *database.Tx, r reading.LogQuery) (*reading.LogPage, error) {
	r.After, r.Through = f.cursor, min(f.seen.Through, f.cursor+reading.MaxSpan)
	r.Agent, r.Everyone, r.Filter, r.Limit = f.by.Agent, f.by.IsOperator, f.filter, f.limit
	found, err := t.Reader.ReadLog(tx, r, nil)
	if err != nil {
		return nil, err
	}
	return found, f.missesNothing(found.Head)
}

// missesNothing refuses to go on if events after the cursor were removed since the follower began. A follower from the beginning of the
// log gets what was left of it then.
func (f *follower) missesNothing(head intents.Head) error {
	if head.EventsRemoved > max(f.removed, f.cursor) && f.wantsLogged() {
		return eventsRemoved(head.EventsRemoved)
	}
	f.removed = head.EventsRemoved
	return nil
}

// wantsLogged reports whether the follower gets logged events.
func (f *follower) wantsLogged() bool { return f.seen.Channel == nil && f.filter.WantsLogged() }

func eventsRemoved(through int64) error {
	return message.ErrEventsRemoved.With("removed_through", strconv.FormatInt(through, 10))
}
