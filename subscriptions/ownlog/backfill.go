package ownlog

import (
	"context"
	"maps"
	"math"
	"slices"

	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging"
	"openintent/messaging/message"
	"openintent/messaging/reading"
	"openintent/subscriptions/delivering"
	"openintent/subscriptions/record"
)

// visibility is what is remembered of an agent's log to notice that its agent can see more than before.
type visibility struct {
	// begun is true after the first pass.
	begun bool
	// role is that of the agent at the latest look.
	role string
	// seen has the targets of the open requests that the agent could see at the latest look, by intent and message id.
	seen map[int64]map[string]string
}

// openRequests are open requests in an intent, by their positions, lowest first.
type openRequests struct {
	intentNo  int64
	positions []int64
}

// backfill finds the open requests that an agent can see since it has gained a role, a membership or access, and has its streams deliver
// them: those that lie before the gathered position and are not in the agent's log. Later ones are gathered like everything else. The
// cursors do not move. In the first pass backfill only records the open requests as seen.
func (l *ownLogNumbers) backfill(ctx context.Context, now *delivering.Progress) error {
	l.visible.holds(now.Presence.Role())
	if err := l.backfillIn(ctx, now, now.Ruled); err != nil {
		return err
	}
	l.visible.begun = l.visible.begun || !now.More
	return nil
}

func (l *ownLogNumbers) backfillIn(ctx context.Context, now *delivering.Progress, intentNos []int64) error {
	if len(intentNos) == 0 {
		return nil
	}
	targets := []string{l.agent}
	if role := now.Presence.Role(); role != "" {
		targets = append(targets, caller.RolePrefix+role)
	}
	var places map[int64][]int64
	err := l.logs.db.ReadFor(ctx, caller.ReaderOf(ctx, l.agent), func(tx *database.Tx) (err error) {
		places, err = reading.OpenRequestsTo(tx, targets, intentNos)
		return err
	})
	if err != nil {
		return err
	}
	for _, intentNo := range intentNos {
		if err := l.backfillFrom(ctx, now, intentNo, places[intentNo]); err != nil {
			return err
		}
	}
	return nil
}

// backfillFrom looks at the open requests at some positions of an intent. It reads no contents.
func (l *ownLogNumbers) backfillFrom(ctx context.Context, now *delivering.Progress, intentNo int64, positions []int64) error {
	open, err := l.openAt(ctx, now.Sub, intentNo, positions)
	if err != nil {
		return err
	}
	if l.visible.begun {
		missing, err := l.missing(ctx, now.Sub, intentNo, open)
		if err != nil {
			return err
		}
		if len(missing) > 0 {
			l.tell(func() {
				for st := range l.streams {
					st.missing = append(st.missing, openRequests{intentNo, missing})
				}
			})
		}
	}
	delete(l.visible.seen, intentNo)
	for _, entry := range open {
		l.visible.note(intentNo, entry.Message)
	}
	return nil
}

// openAt returns those requests at some positions that are open to the agent, without their contents.
func (l *ownLogNumbers) openAt(ctx context.Context, own *record.Subscription, intentNo int64, positions []int64) ([]reading.Entry, error) {
	if len(positions) == 0 {
		return nil, nil
	}
	feed := own.Feed(intentNo)
	feed.Facts, feed.Filter = true, reading.Filter{}
	entries, err := l.logs.messaging.ReadEntries(ctx, feed, positions)
	if delivering.IsRefusal(err) {
		return nil, nil
	}
	return slices.DeleteFunc(entries, func(entry reading.Entry) bool {
		return entry.Message == nil || !entry.Message.Open || entry.Message.Sender == l.agent
	}), err
}

// missing returns the positions of those open requests of an intent that the agent has not seen before, that gathering has left behind, and
// that are not in the log.
func (l *ownLogNumbers) missing(ctx context.Context, own *record.Subscription, intentNo int64, open []reading.Entry) (missing []int64, err error) {
	open = slices.DeleteFunc(slices.Clone(open), func(entry reading.Entry) bool {
		_, seen := l.visible.seen[intentNo][entry.Message.ID]
		return seen
	})
	if len(open) == 0 {
		return nil, nil
	}
	gathered, err := l.gathered(ctx, intentNo)
	if err != nil {
		return nil, err
	}
	for _, entry := range open {
		if entry.Position <= gathered || !own.IsNewEnough(entry) {
			missing = append(missing, entry.Position)
		}
	}
	if len(missing) == 0 {
		return nil, nil
	}
	logged, err := l.logged(ctx, intentNo, missing)
	return slices.DeleteFunc(missing, func(position int64) bool { return logged[position] }), err
}

// gathered returns how far an intent was gathered.
func (l *ownLogNumbers) gathered(ctx context.Context, intentNo int64) (position int64, err error) {
	err = l.logs.db.ReadFor(ctx, caller.ReaderOf(ctx, l.agent), func(tx *database.Tx) error {
		position = 0
		return tx.Pipeline(database.ReadValue(&position,
			"SELECT position FROM subscription_positions WHERE subscription_no = ? AND intent_no = ?", l.no, intentNo))
	})
	return max(position, l.gatherer.Scanned[intentNo].Through), err
}

// handMissing delivers open requests that the agent has gained.
func (st *ownLogStream) handMissing(ctx context.Context, missing []openRequests) error {
	for _, some := range missing {
		for left := some.positions; len(left) > 0; {
			through, err := st.handSome(ctx, some.intentNo, left)
			if err != nil {
				return err
			}
			at, found := slices.BinarySearch(left, through)
			if found {
				at++
			}
			left = left[at:]
			st.log.passMissing(st, openRequests{some.intentNo, left})
		}
	}
	return nil
}

// passMissing leaves, of the first of a stream's missing requests, those that it has not delivered.
func (l *ownLogNumbers) passMissing(st *ownLogStream, left openRequests) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if st.missing[0] = left; len(left.positions) == 0 {
		st.missing = st.missing[1:]
	}
}

// feedOf returns what the stream delivers of an intent.
func (st *ownLogStream) feedOf(intentNo int64) messaging.Feed {
	feed := st.own.Within(st.by.Scope).Feed(intentNo)
	feed.Filter = st.filter
	return feed
}

// handSome reads open requests at some positions, as many as an answer may have bytes, and delivers them as long as they are fresh. It
// returns the position up to which it has delivered them.
func (st *ownLogStream) handSome(ctx context.Context, intentNo int64, positions []int64) (through int64, err error) {
	readAt := st.logs.db.Now()
	entries, through, err := st.logs.messaging.ReadSome(ctx, st.feedOf(intentNo), positions, delivering.PageBytes)
	if delivering.IsRefusal(err) {
		return math.MaxInt64, nil
	}
	if err != nil {
		return 0, err
	}
	for i, entry := range entries {
		if i > 0 && st.logs.db.Now().Sub(readAt) > delivering.FreshFor {
			return entries[i-1].Position, nil
		}
		if !entry.Message.Open {
			continue
		}
		if err := st.hand(ctx, entry, st.number, true); err != nil {
			return 0, err
		}
	}
	return through, nil
}

// note records that the agent has seen an open request.
func (v *visibility) note(intentNo int64, m *message.Message) {
	if v.seen == nil {
		v.seen = make(map[int64]map[string]string)
	}
	if v.seen[intentNo] == nil {
		v.seen[intentNo] = make(map[string]string)
	}
	v.seen[intentNo][m.ID] = m.Target
}

// holds forgets the requests to a role that the agent no longer has: when it takes the role again, they are new to it.
func (v *visibility) holds(role string) {
	if role == v.role {
		return
	}
	for _, requests := range v.seen {
		maps.DeleteFunc(requests, func(_, target string) bool { return target == caller.RolePrefix+v.role })
	}
	v.role = role
}

// logged returns those of some positions of an intent to which deliveries in the agent's log point.
func (l *ownLogNumbers) logged(ctx context.Context, intentNo int64, among []int64) (positions map[int64]bool, err error) {
	positions = make(map[int64]bool)
	err = l.logs.db.ReadFor(ctx, caller.ReaderOf(ctx, l.agent), func(tx *database.Tx) error {
		in, argument := tx.In("position", among)
		return tx.Pipeline(database.Statement{
			SQL:  "SELECT position FROM subscription_deliveries WHERE subscription_no = ? AND intent_no = ? AND " + in,
			Args: []any{l.no, intentNo, argument},
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
