package subscriptions

import (
	"context"
	"slices"

	"openintent/messaging/reading"

	"openintent/caller"
	"openintent/database"
	"openintent/intents"
)

// gains are what a follower remembers in order to notice that its agent sees more than before.
type gains struct {
	begun bool
	// role is what the agent held at the latest look, and states how its intents stood then: of interest is the epoch of their
	// rules.
	role   string
	states map[int64]intents.State
	// seen are the open requests to the agent that it saw then, by intent and message id.
	seen map[int64]map[string]bool
}

// notice gives the intents in which the agent may have gained sight since the look before: all of them by a role, one whose
// rules have changed, and one that reaches it only now.
func (g *gains) notice(now *sight) (changed []int64) {
	role := heldRole(now.presence)
	for intentNo, state := range now.states {
		if before, known := g.states[intentNo]; !known || before.Epoch != state.Epoch || role != "" && role != g.role {
			changed = append(changed, intentNo)
		}
	}
	g.role, g.states = role, now.states
	slices.Sort(changed)
	return changed
}

// backfill delivers, where the agent has gained sight (a role, a membership, access), the open requests to it that lie behind
// what was gathered by then and are not in its log. The cursor stays. What lies ahead is gathered like everything else. The
// first look of a stream only notes what there is to be seen.
func (f *follower) backfill(ctx context.Context, now *sight) error {
	before := f.gains
	if changed := f.gains.notice(now); len(changed) > 0 {
		if err := f.backfillIn(ctx, now, changed); err != nil {
			f.gains.role, f.gains.states = before.role, before.states // the next look notices it again
			return err
		}
	}
	f.gains.begun = true
	return nil
}

func (f *follower) backfillIn(ctx context.Context, now *sight, intentNos []int64) error {
	targets := []string{f.sub.subscriber}
	if f.gains.role != "" {
		targets = append(targets, caller.RolePrefix+f.gains.role)
	}
	var places map[int64][]int64
	err := f.service.db.ReadStatement(ctx, func(tx *database.Tx) (err error) {
		places, err = reading.OpenRequestsTo(tx, targets, intentNos)
		return err
	})
	if err != nil {
		return err
	}
	for _, intentNo := range intentNos {
		if err := f.backfillFrom(ctx, now, intentNo, places[intentNo]); err != nil {
			return err
		}
	}
	return nil
}

func (f *follower) backfillFrom(ctx context.Context, now *sight, intentNo int64, positions []int64) error {
	before := f.gains.seen[intentNo]
	delete(f.gains.seen, intentNo)
	if len(positions) == 0 {
		return nil
	}
	feed := f.sub.feed(intentNo)
	feed.Filter = f.filter
	entries, err := f.service.messaging.ReadEntries(ctx, feed, positions)
	if err != nil && !isRefusal(err) {
		return err
	}
	var logged map[int64]bool
	for _, entry := range entries {
		if !entry.Message.Open || entry.Message.Sender == f.sub.subscriber {
			continue
		}
		if !before[entry.Message.ID] && f.gains.begun && f.passed(now, entry) {
			if logged == nil {
				if logged, err = f.logged(ctx, intentNo); err != nil {
					return err
				}
			}
			if !logged[entry.Position] {
				if err := f.hand(entry, f.number, true); err != nil {
					return err
				}
			}
		}
		f.gains.see(intentNo, entry.Message.ID)
	}
	return nil
}

// passed tells whether an entry lies behind what was gathered, or was sent before there was a log.
func (f *follower) passed(now *sight, entry reading.Entry) bool {
	gathered := max(now.positions[entry.IntentNo], f.gatherer.looked[entry.IntentNo])
	return entry.Position <= gathered || !f.sub.counts(entry)
}

// see notes an open request.
func (g *gains) see(intentNo int64, messageID string) {
	if g.seen == nil {
		g.seen = make(map[int64]map[string]bool)
	}
	if g.seen[intentNo] == nil {
		g.seen[intentNo] = make(map[string]bool)
	}
	g.seen[intentNo][messageID] = true
}

// logged gives the positions of an intent that are in the agent's log.
func (f *follower) logged(ctx context.Context, intentNo int64) (positions map[int64]bool, err error) {
	positions = make(map[int64]bool)
	err = f.service.db.ReadStatement(ctx, func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{
			SQL:  "SELECT position FROM subscription_deliveries WHERE subscription_no = ? AND intent_no = ?",
			Args: []any{f.sub.no, intentNo},
			Scan: func(row database.Row) error {
				var position int64
				err := row.Scan(&position)
				positions[position] = true
				return err
			},
		})
	})
	return positions, err
}
