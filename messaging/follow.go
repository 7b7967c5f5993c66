package messaging

import (
	"context"
	"errors"
	"time"

	"openintent/caller"
	"openintent/channels"
	"openintent/database"
	"openintent/fault"
)

// delivery is one message handed to a follower.
type delivery struct {
	message *Message
	channel *channels.Rules
	// position is the cursor to go on after; a backfilled message carries the cursor reached before it.
	position int64
	backfill bool
	// now is the time by which the message is delivered and its status judged.
	now time.Time
}

// follower follows one channel for one caller: a cursor over the channel's messages. It sends what the caller may see,
// in order, and never skips; the caller's rights are those of the latest look.
type follower struct {
	service *Service
	tail    *tail
	by      caller.Caller
	send    func(delivery) error

	// seen is the sight by which the caller's rights were last decided, and viewer what was decided.
	seen   *sight
	viewer Viewer
	// ordinal and position are the cursor. live is true once it has reached the end: from there on the follower shares what
	// the tail reads, before that it reads for itself how the messages are now.
	ordinal, position int64
	live              bool
	// limit is how many rows the next page of its own may have.
	limit int
}

// follow streams a channel from after a position, or from now on, until the channel is closed and everything delivered,
// the caller loses access, or the context ends. It always returns why. It calls admitted once, when the caller may follow
// and the cursor is good, with the position after which the stream begins: so a quiet channel is told apart from a refusal,
// and a stream that is lost before its first message can be gone on with.
func (s *Service) follow(
	ctx context.Context, key channels.Key, by caller.Caller, after *int64,
	admitted func(position int64) error, send func(delivery) error,
) error {
	t, seen, err := s.tails.join(ctx, key, by.Agent)
	if err != nil {
		return err
	}
	defer s.tails.leave(t, by.Agent)
	f := &follower{service: s, tail: t, by: by, send: send, limit: firstChunk}
	if err := f.begin(ctx, seen, after); err != nil {
		return err
	}
	if err := admitted(f.position); err != nil {
		return err
	}
	for {
		err := f.catchUp(ctx)
		if errors.Is(err, channels.ErrChannelNotFound) {
			return errChannelClosed // deleted meanwhile, which closes it
		}
		if err != nil {
			return err
		}
		if f.ordinal >= f.seen.count.Messages && f.seen.closed() {
			return errChannelClosed
		}
		if err := t.wait(ctx, f.seen); err != nil {
			return err
		}
	}
}

// begin finds the cursor's place in the channel.
func (f *follower) begin(ctx context.Context, seen *sight, after *int64) error {
	if err := f.decide(seen); err != nil {
		return err
	}
	f.ordinal, f.position, f.live = seen.count.Messages, seen.head.LastPosition, true
	if after == nil {
		return nil
	}
	if *after > seen.head.LastPosition {
		return fault.BadField("after_position", "it lies in the future; give a position that was received, or leave it out")
	}
	f.position, f.live = *after, false
	return f.service.db.Read(ctx, func(tx *database.Tx) (err error) {
		f.ordinal, err = ordinalBy(tx, seen.look, "position", *after)
		return err
	})
}

// decide decides by a sight what the caller may see.
func (f *follower) decide(seen *sight) error {
	if seen.err != nil {
		return seen.err
	}
	viewer, err := seen.admitViewer(f.by, f.by.Agent)
	f.seen, f.viewer = seen, viewer
	return err
}

// refresh decides anew if there is a newer sight, and delivers what a role gained by then lets the caller see of what lies
// behind the cursor.
func (f *follower) refresh(ctx context.Context) error {
	select {
	case <-f.seen.superseded:
	default:
		return nil
	}
	before := f.viewer.Presence
	if err := f.decide(f.tail.current()); err != nil {
		return err
	}
	role := f.viewer.Presence.RoleID
	if !f.viewer.Presence.HoldsRole(role) || before.HoldsRole(role) {
		return nil
	}
	return f.backfill(ctx, role)
}

// catchUp delivers everything up to the latest sight.
func (f *follower) catchUp(ctx context.Context) error {
	if err := f.refresh(ctx); err != nil {
		return err
	}
	for f.ordinal < f.seen.through {
		f.ordinal = max(f.ordinal, f.seen.count.Floor)
		rows, through, err := f.next(ctx)
		if err != nil {
			return err
		}
		for _, m := range rows {
			if err := f.refresh(ctx); err != nil { // a client may have kept the message before waiting for long
				return err
			}
			if err := f.deliver(m); err != nil {
				return err
			}
		}
		f.ordinal = max(f.ordinal, through)
	}
	f.live = true
	return nil
}

// next gives the messages after the cursor, and the ordinal up to which there are no others: those that the tail shares,
// or a page of the follower's own.
func (f *follower) next(ctx context.Context) (rows []*Message, through int64, err error) {
	seen := f.seen
	if f.live && f.ordinal >= seen.after && len(seen.messages) > 0 {
		return seen.messages[min(f.ordinal-seen.after, int64(len(seen.messages))):], seen.through, nil
	}
	var found *selection
	err = f.service.db.Read(ctx, func(tx *database.Tx) error {
		found, err = page{
			intentNo: seen.channel.IntentNo, channelNo: seen.channel.ChannelNo, channelID: seen.channel.ID,
			after: f.ordinal, through: seen.through, agent: f.viewer.Agent, everyone: f.viewer.Operator, limit: f.limit,
		}.load(tx, seen.look)
		return err
	})
	switch {
	case err != nil:
		return nil, 0, err
	case found.complete(f.limit):
		return found.messages, seen.through, nil
	}
	f.limit = found.following(f.limit)
	return found.messages, found.messages[len(found.messages)-1].Ordinal, nil
}

// deliver hands one message on, if the caller may see it, it was not evicted and its time has not run out, and moves the
// cursor past it.
func (f *follower) deliver(m *Message) error {
	f.ordinal, f.position = m.Ordinal, m.Position
	now := f.now()
	if m.Ordinal <= f.seen.count.Floor || !listed(m, f.viewer, now) {
		return nil
	}
	return f.send(delivery{message: m, channel: f.seen.channel, position: m.Position, now: now})
}

// now is the time for a delivery: that of the sight, or a later one when the client took its time.
func (f *follower) now() time.Time {
	if now := f.service.db.Now(); now.After(f.seen.now) {
		return now
	}
	return f.seen.now
}

// backfill delivers the open requests behind the cursor that a role gained by now makes visible. The cursor stays.
func (f *follower) backfill(ctx context.Context, role string) error {
	seen, limit := f.seen, firstChunk
	for after := seen.count.Floor; ; {
		var found *selection
		err := f.service.db.Read(ctx, func(tx *database.Tx) (err error) {
			found, err = seen.load(tx, "SELECT "+messageColumns+
				" FROM open_requests q JOIN messages m ON m.intent_no = q.intent_no AND m.position = q.position"+
				" WHERE q.intent_no = ? AND q.channel_no = ? AND q.target = ? AND m.ordinal <= ? AND m.ordinal > ?"+
				" ORDER BY m.ordinal LIMIT ?",
				f.viewer.Agent, seen.channel.IntentNo, seen.channel.ChannelNo, caller.RolePrefix+role,
				f.ordinal, after, limit)
			return err
		})
		if err != nil {
			return err
		}
		for _, m := range found.messages {
			if err := f.deliverBackfill(m); err != nil {
				return err
			}
		}
		if found.complete(limit) {
			return nil
		}
		after = found.messages[len(found.messages)-1].Ordinal
		limit = found.following(limit)
	}
}

func (f *follower) deliverBackfill(m *Message) error {
	now := f.now()
	if !f.viewer.receives(m) || !listed(m, f.viewer, now) { // its sender has seen it all along
		return nil
	}
	return f.send(delivery{message: m, channel: f.seen.channel, position: f.position, backfill: true, now: now})
}
