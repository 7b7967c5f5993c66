package messaging

import (
	"math"
	"slices"

	"openintent/caller"
	"openintent/channels"
	"openintent/database"
)

// channelScope is one channel: its messages, by their ordinals.
type channelScope channels.Key

func (c channelScope) topics() []any {
	key := channels.Key(c)
	return []any{key, closingTopic(key), intentTopic(key.IntentNo)}
}

// look reads everything in one round trip.
func (c channelScope) look(t *tails, tx *database.Tx, before *sight, agentIDs []string) (*sight, error) {
	rows, statement := c.newer(tx, before)
	found, check := before.anchor.prepare(anchored, c.IntentNo, c.ChannelNo)
	l, err := t.Reader.look(tx, channels.Key(c), agentIDs, append(statement, check...)...)
	if err != nil {
		return nil, err
	}
	next := &sight{section: section{look: l}}
	if err := next.markAbandoned(tx, rows.messages); err != nil {
		return nil, err
	}
	next.extend(before, rows.messages)
	next.hold(before, *found)
	return next, nil
}

// newer gives the statement that reads what came since a sight; the first sight begins at the channel's end.
func (c channelScope) newer(tx *database.Tx, before *sight) (rows *selection, statement []database.Statement) {
	if before.channel == nil {
		return new(selection), nil
	}
	rows, read := page{
		intentNo: c.IntentNo, channelNo: c.ChannelNo, channelID: before.channel.ID,
		after: max(before.through, before.count.Floor), through: math.MaxInt64, everyone: true, limit: tailPage,
	}.prepare(tx)
	return rows, []database.Statement{read}
}

// take follows on a sight under the same rules, if the messages are those after its last one and the caller's right to each
// of them does not depend on what only a look can tell.
func (c channelScope) take(t *tails, before *sight, stored *handover) *sight {
	now := stored.head.At(t.DB.Now())
	if before.channel == nil || before.err != nil || !stored.fresh(now) {
		return nil
	}
	rows := slices.Clone(stored.after(before.through))
	if len(rows) == 0 {
		if before.denies(stored.messages[len(stored.messages)-1]) {
			return nil
		}
		return before // a look has seen it
	}
	if rows[0].Ordinal != before.through+1 || stored.head.Epoch != before.head.Epoch || !before.canTell(stored) {
		return nil
	}
	if len(rows) < len(stored.messages) {
		return nil // one commit is seen whole or not at all, so the log has lost what was seen and gives its places again
	}
	next := &sight{section: section{look: before.look}, number: before.number}
	next.head, next.count, next.now = stored.head, stored.count, now
	if next.closed() {
		return nil // its requests have expired with it
	}
	next.extend(before, rows)
	next.anchor, next.losses = before.anchor, before.losses
	next.drop()
	return next
}

// extend takes over the messages of the sight before and adds what came since. When the rows leave a gap to those, or the
// channel has closed, which expires its requests, it begins anew.
func (s *sight) extend(before *sight, rows []*Message) {
	rows = slices.DeleteFunc(rows, func(m *Message) bool { return m.Ordinal <= s.count.Floor })
	keep, from, through := !s.stale(before) && !s.closed(), before.through, before.through
	switch {
	case before.channel == nil || len(rows) == 0 && through < s.count.Messages: // removed, or below the floor
		keep, from, through = false, s.count.Messages, s.count.Messages
	case len(rows) > 0:
		through = rows[len(rows)-1].Ordinal
		if rows[0].Ordinal != from+1 {
			keep, from = false, rows[0].Ordinal-1
		}
	}
	s.share(before, keep, from, itemsOf(rows), through)
}

// itemsOf gives a channel's messages as items of its scope.
func itemsOf(messages []*Message) []item {
	items := make([]item, len(messages))
	for i, m := range messages {
		items[i] = item{place: m.Ordinal, message: m}
	}
	return items
}

func (c channelScope) admit(seen *sight, by caller.Caller) error {
	_, err := seen.admitViewer(by, by.Agent)
	return err
}

func (c channelScope) cursorAt(tx *database.Tx, seen *sight, position int64) (int64, error) {
	return ordinalBy(tx, seen.look, "position", position)
}

func (c channelScope) read(_ *tails, tx *database.Tx, f *follower) (*section, error) {
	rows, err := page{
		intentNo: c.IntentNo, channelNo: c.ChannelNo, channelID: f.seen.channel.ID,
		after: f.cursor, through: f.seen.through, agent: f.by.Agent, everyone: f.by.IsOperator,
		messageType: f.filter.MessageType, correlationID: f.filter.CorrelationID, limit: f.limit,
	}.load(tx, f.seen.look)
	if err != nil {
		return nil, err
	}
	found := &section{
		look: f.seen.look, items: itemsOf(rows.messages), through: f.seen.through, following: rows.following(f.limit),
	}
	if !rows.complete(f.limit) {
		found.through = rows.messages[len(rows.messages)-1].Ordinal
	}
	return found, nil
}
