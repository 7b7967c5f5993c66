package following

import (
	"context"
	"strings"

	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/message"
	"openintent/messaging/reading"
)

// gains are what lets a follower's caller see more of what lies behind its cursor than before.
type gains struct {
	// role is a role that the caller holds now and did not hold before; empty for none.
	role string
	// channelNos are channels of an intent in which the caller takes part now and did not before.
	channelNos []int64
}

func (g gains) none() bool { return g.role == "" && len(g.channelNos) == 0 }

// gainedSince compares the caller as of an earlier shared page with the caller as of the latest one.
func (f *follower) gainedSince(earlier *sharedPage) (gained gains) {
	before, now := earlier.Presences[f.by.Agent], f.seen.Presences[f.by.Agent]
	if now.HoldsRole(now.RoleID) && !before.HoldsRole(now.RoleID) {
		gained.role = now.RoleID
	}
	if earlier.exclusions != f.seen.exclusions {
		gained.channelNos = earlier.exclusions.Admitting(f.seen.exclusions, f.by.Agent, before.DepartedAt, now.DepartedAt)
	}
	return gained
}

// backfill delivers the open requests behind the cursor that the caller can see because of its gains. The cursor stays
// where it is.
func (f *follower) backfill(ctx context.Context, gained gains) error {
	limit := reading.FirstChunk
	for after := int64(0); ; {
		var found *reading.LogPage
		err := f.tails.DB.ReadFor(ctx, f.by.Reader(), func(tx *database.Tx) (err error) {
			found, err = f.openRequests(tx, gained, after, limit)
			return err
		})
		if err != nil {
			return err
		}
		for i := range found.Items {
			if err := f.deliverBackfill(ctx, found, found.Items[i:]); err != nil {
				return err
			}
		}
		if !found.Cut {
			return nil
		}
		after, limit = found.Through, found.NextLimit
	}
}

// openRequests reads the open requests that the gains may show, after a position and no further than the cursor.
func (f *follower) openRequests(tx *database.Tx, gained gains, after int64, limit int) (*reading.LogPage, error) {
	condition, arguments := f.gainedRequests(tx, gained)
	if f.seen.Channel != nil {
		condition, arguments = condition+" AND q.channel_no = ?", append(arguments, f.seen.Channel.ChannelNo)
	}
	rows, read := reading.PrepareMessages("", "SELECT "+message.Columns+
		" FROM open_requests q JOIN messages m ON m.intent_no = q.intent_no AND m.position = q.position"+
		" WHERE q.intent_no = ? AND q.position > ? AND q.position <= ? AND "+condition+" ORDER BY q.position LIMIT ?",
		append(message.ViewedBy(f.by.Agent, f.seen.Head.IntentNo, after, f.position), append(arguments, limit)...)...)
	headRead, head := intents.PrepareHead(tx, f.seen.Head.IntentNo)
	l, err := f.tails.Reader.IntentSnapshot(tx, nil, []database.Statement{headRead, read}, func() (*intents.Head, error) {
		h, err := head()
		return &h, err
	})
	if err != nil {
		return nil, err
	}
	found, copies := &reading.LogPage{Snapshot: l}, &intents.SectionEvents{}
	if f.seen.Channel == nil && len(rows.Messages) > 0 {
		if copies, err = copiesOf(tx, f.seen.Head.IntentNo, rows.Messages); err != nil {
			return nil, err
		}
	}
	found.Merge(reading.LogQuery{Through: f.position, Limit: limit}, reading.Rows{Messages: rows, Events: copies})
	return found, found.Resolve(tx, f.tails.Reader)
}

// copiesOf reads the log's copies of messages.
func copiesOf(tx *database.Tx, intentNo int64, messages []*message.Message) (*intents.SectionEvents, error) {
	positions := make([]int64, len(messages))
	for i, m := range messages {
		positions[i] = m.Position
	}
	copies, read := intents.Section{
		IntentNo: intentNo, At: positions, Types: []string{reading.MessageEventType}, Limit: len(positions),
	}.Prepare(tx)
	return copies, tx.Pipeline(read)
}

// gainedRequests says in SQL which open requests were gained: those to the gained role, and in the gained channels those to
// the caller or to its role.
func (f *follower) gainedRequests(tx *database.Tx, gained gains) (condition string, arguments []any) {
	var either []string
	if gained.role != "" {
		either, arguments = append(either, "q.target = ?"), append(arguments, caller.RolePrefix+gained.role)
	}
	if len(gained.channelNos) > 0 {
		in, argument := tx.In("q.channel_no", gained.channelNos)
		either = append(either, in+" AND q.target IN (?, ?)")
		arguments = append(arguments, argument, f.by.Agent, caller.RolePrefix+f.seen.Presences[f.by.Agent].RoleID)
	}
	return "(" + strings.Join(either, " OR ") + ")", arguments
}

// deliverBackfill delivers the first of some open requests, if the caller may see it.
func (f *follower) deliverBackfill(ctx context.Context, found *reading.LogPage, items []reading.Item) (err error) {
	it := items[0]
	entry, in := f.entry(it), found.States[it.Message.ChannelNo]
	viewer := f.viewerIn(in.Channel)
	shown := viewer.Sees(it.Message, message.Listed, in.Count.Floor, entry.Now)
	if !shown || !viewer.Receives(it.Message) || !f.filter.Keeps(it) { // its sender has seen it all along
		return nil
	}
	if entry.Attention, err = f.attend(ctx, found, items, in, entry.Now); err != nil {
		return err
	}
	return f.hand(ctx, delivery{Entry: entry.In(in.Channel), position: f.position, backfill: true})
}
