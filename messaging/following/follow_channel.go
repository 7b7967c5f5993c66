package following

import (
	"math"
	"slices"

	"openintent/channels"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/message"
	"openintent/messaging/reading"
	"openintent/messaging/wake"
)

// ChannelScope is one channel: its messages, by their ordinals.
type ChannelScope channels.Key

func (c ChannelScope) topics() []any {
	key := channels.Key(c)
	return []any{key, wake.ClosingTopic(key), wake.IntentTopic(key.IntentNo)}
}

// look reads everything in one round trip.
func (c ChannelScope) look(t *Tails, tx *database.Tx, before *sharedPage, agentIDs []string) (*sharedPage, error) {
	rows, statement := c.newer(tx, before)
	found, check := before.anchor.prepare(anchored, c.IntentNo, c.ChannelNo)
	l, err := t.Reader.Snapshot(tx, channels.Key(c), agentIDs, append(statement, check...)...)
	if err != nil {
		return nil, err
	}
	next := &sharedPage{LogPage: reading.LogPage{Snapshot: l}}
	if err := next.MarkAbandoned(tx, rows.Messages); err != nil {
		return nil, err
	}
	next.extend(before, rows.Messages)
	next.hold(before, *found)
	return next, nil
}

// newer returns the statement that reads what came since a shared page. The first shared page begins at the channel's end.
func (c ChannelScope) newer(tx *database.Tx, before *sharedPage) (rows *reading.MessagePage, statement []database.Statement) {
	if before.Channel == nil {
		return new(reading.MessagePage), nil
	}
	rows, read := reading.MessageQuery{
		IntentNo: c.IntentNo, ChannelNo: c.ChannelNo, ChannelID: before.Channel.ID,
		After: max(before.Through, before.Count.Floor), Through: math.MaxInt64, Everyone: true, Limit: tailPage,
	}.Prepare(tx)
	return rows, []database.Statement{read}
}

// take follows on a shared page under the same rules, if the handed-over messages come right after its last one and the
// handover alone shows who sees them (Snapshot.CanTell).
func (c ChannelScope) take(t *Tails, before *sharedPage, stored *wake.Handover) *sharedPage {
	now := stored.Head.At(t.DB.Now())
	if before.Channel == nil || before.err != nil || !stored.Fresh(now) {
		return nil
	}
	rows := slices.Clone(stored.After(before.Through))
	if len(rows) == 0 {
		if stored.Head.LastAt.After(before.Head.LastAt) || before.denies(stored.Messages[len(stored.Messages)-1]) {
			return nil // it is newer than the page, or another one, so the log has lost what the page has
		}
		return before // the page has it already
	}
	if rows[0].Ordinal != before.Through+1 || stored.Head.Epoch != before.Head.Epoch || !before.CanTell(stored) {
		return nil
	}
	if len(rows) < len(stored.Messages) {
		return nil // a commit is seen whole or not at all, so the log has lost what was seen and gives its places a second time
	}
	next := &sharedPage{LogPage: reading.LogPage{Snapshot: before.Snapshot}, number: before.number}
	next.Head, next.Count, next.Now = stored.Head, stored.Count, now
	if next.Closed() {
		return nil // its requests have expired with it
	}
	next.extend(before, rows)
	next.anchor, next.losses = before.anchor, before.losses
	next.setAnchor()
	return next
}

// extend takes over the messages of the shared page before and adds those that came since. It begins anew when the rows
// leave a gap after those messages, or when the channel has closed, which expires its requests.
func (s *sharedPage) extend(before *sharedPage, rows []*message.Message) {
	rows = slices.DeleteFunc(rows, func(m *message.Message) bool { return m.Ordinal <= s.Count.Floor })
	keep, from, through := !s.stale(before) && !s.Closed(), before.Through, before.Through
	switch {
	case before.Channel == nil || len(rows) == 0 && through < s.Count.Messages: // removed, or below the floor
		keep, from, through = false, s.Count.Messages, s.Count.Messages
	case len(rows) > 0:
		through = rows[len(rows)-1].Ordinal
		if rows[0].Ordinal != from+1 {
			keep, from = false, rows[0].Ordinal-1
		}
	}
	s.share(before, keep, from, itemsOf(rows), through)
}

// itemsOf returns a channel's messages as items of the channel's scope.
func itemsOf(messages []*message.Message) []reading.Item {
	items := make([]reading.Item, len(messages))
	for i, m := range messages {
		items[i] = reading.Item{Place: m.Ordinal, Message: m}
	}
	return items
}

func (c ChannelScope) admit(seen *sharedPage, by caller.Caller) error {
	_, err := seen.AdmitViewer(by, by.Agent)
	return err
}

func (c ChannelScope) cursorAt(tx *database.Tx, seen *sharedPage, position int64) (int64, error) {
	return reading.OrdinalBy(tx, seen.Snapshot, "position", position)
}

func (c ChannelScope) read(_ *Tails, tx *database.Tx, f *follower) (*reading.LogPage, error) {
	rows, err := reading.MessageQuery{
		IntentNo: c.IntentNo, ChannelNo: c.ChannelNo, ChannelID: f.seen.Channel.ID,
		After: f.cursor, Through: f.seen.Through, Agent: f.by.Agent, Everyone: f.by.IsOperator,
		MessageType: f.filter.MessageType, CorrelationID: f.filter.CorrelationID, Limit: f.limit,
	}.Load(tx, f.seen.Snapshot)
	if err != nil {
		return nil, err
	}
	found := &reading.LogPage{
		Snapshot: f.seen.Snapshot, Items: itemsOf(rows.Messages), Through: f.seen.Through, NextLimit: rows.NextLimit(f.limit),
	}
	if !rows.Complete(f.limit) {
		found.Through = rows.Messages[len(rows.Messages)-1].Ordinal
	}
	return found, nil
}
