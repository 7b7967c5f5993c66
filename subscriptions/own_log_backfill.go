package subscriptions

import (
	"context"
	"math"
	"slices"

	"openintent/messaging/reading"

	"openintent/caller"
	"openintent/database"
	"openintent/intents"
	"openintent/messaging"
)

// visibility is what a stream remembers to notice that its agent can see more than before.
type visibility struct {
	begun bool
	// role is the role that the agent held at the latest look. states are the heads of its intents at that time; only the
	// epochs of their rules are used.
	role   string
	states map[int64]intents.State
	// seen contains the open requests to the agent that it could see then, by intent and message id.
	seen map[int64]map[string]bool
}

// widened returns the intents in which the agent may see more than at the previous look. If it holds a new role, these are all
// its intents. Otherwise they are those whose rules have changed and those that have begun to reach it.
func (v *visibility) widened(now *progress) (changed []int64) {
	if now.moved {
		return nil // neither the role nor rules have changed
	}
	role := heldRole(now.presence)
	for intentNo, state := range now.states {
		if before, known := v.states[intentNo]; !known || before.Epoch != state.Epoch || role != "" && role != v.role {
			changed = append(changed, intentNo)
		}
	}
	v.role, v.states = role, now.states
	slices.Sort(changed)
	return changed
}

// backfill delivers open requests to an agent that has gained a role, a membership or access. It delivers those that lie before
// the gathered position and are not in the agent's log; later ones are gathered like everything else. The cursor does not move.
// At a stream's first look, backfill delivers nothing and only records the open requests as seen.
func (st *ownLogStream) backfill(ctx context.Context, now *progress) error {
	before := st.visible
	if changed := st.visible.widened(now); len(changed) > 0 {
		if err := st.backfillIn(ctx, now, changed); err != nil {
			st.visible.role, st.visible.states = before.role, before.states // so that the next look notices it again
			return err
		}
	}
	st.visible.begun = true
	return nil
}

func (st *ownLogStream) backfillIn(ctx context.Context, now *progress, intentNos []int64) error {
	targets := []string{st.sub.subscriber}
	if st.visible.role != "" {
		targets = append(targets, caller.RolePrefix+st.visible.role)
	}
	var places map[int64][]int64
	err := st.service.db.ReadFor(ctx, caller.ReaderOf(ctx, st.sub.subscriber), func(tx *database.Tx) (err error) {
		places, err = reading.OpenRequestsTo(tx, targets, intentNos)
		return err
	})
	if err != nil {
		return err
	}
	for _, intentNo := range intentNos {
		if err := st.backfillFrom(ctx, now, intentNo, places[intentNo]); err != nil {
			return err
		}
	}
	return nil
}

// backfillFrom looks at the open requests at some positions of an intent. It reads in full only those that it delivers.
func (st *ownLogStream) backfillFrom(ctx context.Context, now *progress, intentNo int64, positions []int64) error {
	open, err := st.openAt(ctx, intentNo, positions)
	if err != nil {
		return err
	}
	if st.visible.begun {
		if err := st.handMissing(ctx, now, intentNo, open); err != nil {
			return err
		}
	}
	delete(st.visible.seen, intentNo)
	for _, entry := range open {
		st.visible.note(intentNo, entry.Message.ID)
	}
	return nil
}

// openAt returns those requests at some positions that are open to the agent, without their contents.
func (st *ownLogStream) openAt(ctx context.Context, intentNo int64, positions []int64) ([]reading.Entry, error) {
	if len(positions) == 0 {
		return nil, nil
	}
	feed := st.feedOf(intentNo)
	feed.Facts, feed.Filter.Attention = true, false
	entries, err := st.service.messaging.ReadEntries(ctx, feed, positions)
	if isRefusal(err) {
		return nil, nil
	}
	return slices.DeleteFunc(entries, func(entry reading.Entry) bool {
		return !entry.Message.Open || entry.Message.Sender == st.sub.subscriber
	}), err
}

// feedOf returns what the stream delivers of an intent.
func (st *ownLogStream) feedOf(intentNo int64) messaging.Feed {
	feed := st.sub.within(st.scope).feed(intentNo)
	feed.Filter = st.filter
	return feed
}

// handMissing delivers those open requests of an intent that the agent has not seen before, that gathering has left behind, and that are
// not in the log.
func (st *ownLogStream) handMissing(ctx context.Context, now *progress, intentNo int64, open []reading.Entry) error {
	var missing []int64
	for _, entry := range open {
		if !st.visible.seen[intentNo][entry.Message.ID] && st.passed(now, entry) {
			missing = append(missing, entry.Position)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	logged, err := st.logged(ctx, intentNo, missing)
	if err != nil {
		return err
	}
	missing = slices.DeleteFunc(missing, func(position int64) bool { return logged[position] })
	for len(missing) > 0 {
		through, err := st.handSome(ctx, intentNo, missing)
		if err != nil {
			return err
		}
		missing = slices.DeleteFunc(missing, func(position int64) bool { return position <= through })
	}
	return nil
}

// handSome reads open requests at some positions, as many as an answer may have bytes, and delivers them as long as they are fresh. It
// returns the position up to which it has delivered them.
func (st *ownLogStream) handSome(ctx context.Context, intentNo int64, positions []int64) (through int64, err error) {
	readAt := st.service.db.Now()
	entries, through, err := st.service.messaging.ReadSome(ctx, st.feedOf(intentNo), positions, pageBytes)
	if isRefusal(err) {
		return math.MaxInt64, nil
	}
	if err != nil {
		return 0, err
	}
	for i, entry := range entries {
		if i > 0 && st.service.db.Now().Sub(readAt) > freshFor {
			return entries[i-1].Position, nil
		}
		if !entry.Message.Open {
			continue
		}
		if err := st.hand(ctx, entry, st.number, true); err != nil {
			return 0, err
		}
		st.visible.note(intentNo, entry.Message.ID)
	}
	return through, nil
}

// passed reports whether an entry lies before the gathered position, or was sent before the log was created.
func (st *ownLogStream) passed(now *progress, entry reading.Entry) bool {
	gathered := max(now.positions[entry.IntentNo], st.gatherer.scanned[entry.IntentNo])
	return entry.Position <= gathered || !st.sub.isNewEnough(entry)
}

// note records that the agent has seen an open request.
func (v *visibility) note(intentNo int64, messageID string) {
	if v.seen == nil {
		v.seen = make(map[int64]map[string]bool)
	}
	if v.seen[intentNo] == nil {
		v.seen[intentNo] = make(map[string]bool)
	}
	v.seen[intentNo][messageID] = true
}

// logged returns those of some positions of an intent to which deliveries in the agent's log point.
func (st *ownLogStream) logged(ctx context.Context, intentNo int64, among []int64) (positions map[int64]bool, err error) {
	positions = make(map[int64]bool)
	err = st.service.db.ReadFor(ctx, caller.ReaderOf(ctx, st.sub.subscriber), func(tx *database.Tx) error {
		in, argument := tx.In("position", among)
		return tx.Pipeline(database.Statement{
			SQL:  "SELECT position FROM subscription_deliveries WHERE subscription_no = ? AND intent_no = ? AND " + in,
			Args: []any{st.sub.no, intentNo, argument},
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
