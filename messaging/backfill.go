package messaging

import (
	"context"
	"strings"

	"openintent/caller"
	"openintent/database"
	"openintent/intents"
)

// gains are what lets a follower's caller see more of what lies behind its cursor than it did before.
type gains struct {
	// role is a role that it holds now and did not hold; empty: none.
	role string
	// channelNos are channels of an intent in which it takes part now and did not.
	channelNos []int64
}

func (g gains) none() bool { return g.role == "" && len(g.channelNos) == 0 }

// gains compares what the caller was at an earlier sight with what it is now.
func (f *follower) gains(earlier *sight) (gained gains) {
	before, now := earlier.presences[f.by.Agent], f.seen.presences[f.by.Agent]
	if now.HoldsRole(now.RoleID) && !before.HoldsRole(now.RoleID) {
		gained.role = now.RoleID
	}
	if earlier.exclusions != f.seen.exclusions {
		gained.channelNos = earlier.exclusions.Admitting(f.seen.exclusions, f.by.Agent, before.DepartedAt, now.DepartedAt)
	}
	return gained
}

// backfill delivers the open requests behind the cursor that are visible by what was gained. The cursor stays.
func (f *follower) backfill(ctx context.Context, gained gains) error {
	limit := firstChunk
	for after := int64(0); ; {
		var found *section
		err := f.tails.DB.Read(ctx, func(tx *database.Tx) (err error) {
			found, err = f.openRequests(tx, gained, after, limit)
			return err
		})
		if err != nil {
			return err
		}
		for _, it := range found.items {
			if err := f.deliverBackfill(found, it); err != nil {
				return err
			}
		}
		if !found.cut {
			return nil
		}
		after, limit = found.through, found.following
	}
}

// openRequests reads open requests by what was gained, after a position and no further than the cursor.
func (f *follower) openRequests(tx *database.Tx, gained gains, after int64, limit int) (*section, error) {
	condition, arguments := f.gainedRequests(tx, gained)
	if f.seen.channel != nil {
		condition, arguments = condition+" AND q.channel_no = ?", append(arguments, f.seen.channel.ChannelNo)
	}
	rows, read := prepareMessages("", "SELECT "+messageColumns+
		" FROM open_requests q JOIN messages m ON m.intent_no = q.intent_no AND m.position = q.position"+
		" WHERE q.intent_no = ? AND q.position > ? AND q.position <= ? AND "+condition+" ORDER BY q.position LIMIT ?",
		append(viewedBy(f.by.Agent, f.seen.head.IntentNo, after, f.position), append(arguments, limit)...)...)
	headRead, head := intents.PrepareHead(tx, f.seen.head.IntentNo)
	l, err := f.tails.Reader.lookAtIntent(tx, nil, []database.Statement{headRead, read}, func() (*intents.Head, error) {
		h, err := head()
		return &h, err
	})
	if err != nil {
		return nil, err
	}
	found, copies := &section{look: l}, &intents.SectionEvents{}
	if f.seen.channel == nil && len(rows.messages) > 0 {
		if copies, err = copiesOf(tx, f.seen.head.IntentNo, rows.messages); err != nil {
			return nil, err
		}
	}
	found.merge(logQuery{through: f.position, limit: limit}, rows, copies)
	return found, found.resolve(tx, f.tails.Reader)
}

// copiesOf reads the log's copies of messages.
func copiesOf(tx *database.Tx, intentNo int64, messages []*Message) (*intents.SectionEvents, error) {
	positions := make([]int64, len(messages))
	for i, m := range messages {
		positions[i] = m.Position
	}
	copies, read := intents.Section{
		IntentNo: intentNo, At: positions, Types: []string{MessageEventType}, Limit: len(positions),
	}.Prepare(tx)
	return copies, tx.Pipeline(read)
}

// gainedRequests says in SQL which open requests were gained: those to the role gained, and those to the caller or its role
// in the channels gained.
func (f *follower) gainedRequests(tx *database.Tx, gained gains) (condition string, arguments []any) {
	var either []string
	if gained.role != "" {
		either, arguments = append(either, "q.target = ?"), append(arguments, caller.RolePrefix+gained.role)
	}
	if len(gained.channelNos) > 0 {
		in, argument := tx.In("q.channel_no", gained.channelNos)
		either = append(either, in+" AND q.target IN (?, ?)")
		arguments = append(arguments, argument, f.by.Agent, caller.RolePrefix+f.seen.presences[f.by.Agent].RoleID)
	}
	return "(" + strings.Join(either, " OR ") + ")", arguments
}

func (f *follower) deliverBackfill(found *section, it item) error {
	entry, in := f.entry(it), found.talks[it.message.ChannelNo]
	viewer := f.viewerIn(in.channel)
	shown := viewer.receives(it.message) && listed(it.message, viewer, entry.Now) // its sender has seen it all along
	if !shown || it.message.Ordinal <= in.count.Floor || !f.filter.keeps(it) {
		return nil
	}
	return f.hand(delivery{Entry: entry.in(in.channel), position: f.position, backfill: true})
}
