package following

import (
	"context"
	"errors"
	"strconv"
	"time"

	"google.golang.org/grpc"

	"openintent/channels"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/message"
	"openintent/messaging/reading"
)

// delivery is what a follower hands its client: an entry, or the mark that the client has caught up.
type delivery struct {
	reading.Entry
	caughtUp bool
	// position is the cursor after which to go on. A backfilled message carries the cursor reached before it.
	position int64
	backfill bool
}

// follower follows one scope for one caller, with a cursor over the scope's items. It sends what the caller may see, in
// order, and skips nothing of that. The latest shared page decides what the caller may see.
type follower struct {
	scope  scope
	tails  *Tails
	tail   *tail
	by     caller.Caller
	filter reading.Filter
	send   func(delivery) error

	// seen is the shared page by which the caller's rights were last decided.
	seen *sharedPage
	// viewer is the caller as of that page in one channel, viewing: the last channel that was asked for.
	viewer  message.Viewer
	viewing *channels.Rules
	// cursor is the place in the scope, position the place in the intent's log. live is true once the cursor has reached
	// the end. From then on the follower shares what the tail reads; before that it reads for itself how things are now.
	cursor, position int64
	live             bool
	// readUnder is the epoch of the shared page by which the latest items were asked for.
	readUnder int64
	// limit is how many rows the next page that the follower reads itself may have.
	limit int
	// history is the scope's end, and lastPosition the log's, when the caller was admitted. marked is true once the caller
	// was told that it has caught up with them.
	history, lastPosition int64
	caughtUp              bool
	// removed is up to which position events were missing in the log when the follower last knew that it had missed none of them.
	removed int64
	// facts are what the follower has read to judge what messages ask of the caller.
	facts ownFacts
	// offered are messages that were handed over and are not recorded yet.
	offered []*message.Message
}

// Stream is what a caller asks to follow.
type Stream struct {
	Scope  scope
	By     caller.Caller
	Filter reading.Filter
	// After is the position after which to go on. With nil the stream goes on from now.
	After *int64
	// Admitted is called once, when the caller may follow and the cursor is good, with the position after which the stream
	// begins. So a client can tell a quiet stream from a refusal, and can go on with a stream that is lost before its first
	// message.
	Admitted func(position int64) error
	// Server is the gRPC stream on which everything is sent.
	Server grpc.ServerStream
}

// Follow streams until everything is delivered and nothing can follow, the caller loses access, or the context ends. It
// always returns the reason.
func (t *Tails) Follow(ctx context.Context, asked Stream) error {
	joined, seen, err := t.join(ctx, asked.Scope, asked.By.Agent)
	if err != nil {
		return err
	}
	defer t.leave(joined, asked.By.Agent)
	f := &follower{
		tails: t, scope: asked.Scope, tail: joined, by: asked.By, filter: asked.Filter,
		send: newSender(asked.Server).send, limit: reading.FirstChunk,
	}
	defer f.recordOffered()
	if err := f.begin(ctx, seen, asked.After); err != nil {
		return err
	}
	if err := asked.Admitted(f.position); err != nil {
		return err
	}
	for {
		err := f.catchUp(ctx)
		if errors.Is(err, channels.ErrChannelNotFound) {
			return message.ErrChannelClosed // it was deleted meanwhile, which closes it
		}
		if err != nil {
			return err
		}
		if f.cursor >= f.seen.end() && f.seen.ended() {
			return message.ErrChannelClosed
		}
		f.recordOffered()
		if err := joined.wait(ctx, f.seen); err != nil {
			return err
		}
	}
}

// begin finds the cursor's place in the scope.
func (f *follower) begin(ctx context.Context, seen *sharedPage, after *int64) error {
	if err := f.decide(seen); err != nil {
		return err
	}
	f.history, f.lastPosition = seen.end(), seen.Head.LastPosition
	f.cursor, f.position, f.live = f.history, f.lastPosition, true
	f.removed = seen.Head.EventsRemoved
	if after == nil {
		return nil
	}
	if *after > 0 && *after < f.removed && f.wantsLogged() {
		return eventsRemoved(f.removed)
	}
	if *after > seen.Head.LastPosition {
		return message.ErrCursorBeyondLog.With("last_position", strconv.FormatInt(seen.Head.LastPosition, 10))
	}
	f.position, f.live = *after, false
	return f.tails.DB.ReadFor(ctx, f.by.Reader(), func(tx *database.Tx) (err error) {
		f.cursor, err = f.scope.cursorAt(tx, seen, *after)
		return err
	})
}

// decide decides by a shared page whether the caller may go on following.
func (f *follower) decide(seen *sharedPage) error {
	if seen.err != nil {
		return seen.err
	}
	f.seen, f.viewing = seen, nil
	return f.scope.admit(seen, f.by)
}

// viewerIn returns the caller as the viewer of a channel. In the scope of an intent the channel's rules may be newer than
// the shared page. A channel that the caller came to see since then is backfilled with the next shared page, so it is not
// shown before.
func (f *follower) viewerIn(channel *channels.Rules) message.Viewer {
	if f.viewing != channel {
		f.viewing, f.viewer = channel, f.seen.ViewerOf(channel, f.by.Agent, f.by.IsOperator)
		if e := f.seen.exclusions; e != nil && !f.viewer.Operator &&
			e.Excludes(channel.ChannelNo, f.viewer.Agent, f.viewer.Presence.DepartedAt) {
			f.viewer.Participates = false
		}
	}
	return f.viewer
}

// refresh decides anew if there is a newer shared page, and delivers what the caller has come to see by then of what lies
// behind the cursor. If the caller gained a role, what was read before is outdated: it shows which requests were open then,
// and not which are open now.
func (f *follower) refresh(ctx context.Context) (outdated bool, err error) {
	select {
	case <-f.seen.superseded:
	default:
		return false, nil
	}
	before := f.seen
	if err := f.decide(f.tail.current()); err != nil {
		return false, err
	}
	if f.seen.losses.count > before.losses.count && f.cursor >= f.seen.losses.from {
		return false, message.ErrCursorBeyondLog.With("last_position", strconv.FormatInt(f.seen.Head.LastPosition, 10))
	}
	gained := f.gainedSince(before)
	if gained.none() {
		return false, nil
	}
	if gained.role != "" {
		f.live, outdated = false, true
	}
	return outdated, f.backfill(ctx, gained)
}

// catchUp delivers everything up to the end of the latest shared page.
func (f *follower) catchUp(ctx context.Context) error {
	if err := f.sayCaughtUp(f.cursor); err != nil {
		return err
	}
	if _, err := f.refresh(ctx); err != nil {
		return err
	}
	for f.cursor < f.seen.Through {
		if f.seen.byOrdinal() {
			f.cursor = max(f.cursor, f.seen.Count.Floor)
		}
		found, err := f.next(ctx)
		if err != nil {
			return err
		}
		if err := f.deliverAll(ctx, found); err != nil {
			return err
		}
		if err := f.sayCaughtUp(f.cursor); err != nil {
			return err
		}
	}
	f.live = true
	return nil
}

// next returns the items after the cursor, and the place up to which there are no others. A follower that has fallen behind
// the shared page reads its own page; any other takes what the tail shares.
func (f *follower) next(ctx context.Context) (found *reading.LogPage, err error) {
	f.readUnder = f.seen.Head.Epoch
	if f.live && f.cursor >= f.seen.after {
		shared := f.seen.LogPage
		shared.Items = f.seen.since(f.cursor)
		return &shared, nil
	}
	err = f.tails.DB.ReadFor(ctx, f.by.Reader(), func(tx *database.Tx) (err error) {
		found, err = f.scope.read(f.tails, tx, f)
		return err
	})
	if err != nil {
		return nil, err
	}
	f.limit = found.NextLimit
	return found, nil
}

// deliverAll delivers a log page. It stops when rules have changed, or messages were edited, since the page was read; the rest is
// read again. One item is delivered in any case, so that a client gets on however often that happens.
func (f *follower) deliverAll(ctx context.Context, found *reading.LogPage) error {
	epoch := f.seen.Head.Epoch
	for i, it := range found.Items {
		// The client may have taken long to accept the entry before.
		if outdated, err := f.refresh(ctx); err != nil || outdated || i > 0 && f.seen.Head.Epoch != epoch {
			return err
		}
		if err := f.sayCaughtUp(it.Place - 1); err != nil {
			return err
		}
		if outdated, err := f.deliver(ctx, found, found.Items[i:]); err != nil || outdated {
			return err
		}
	}
	f.pass(found.Through)
	return nil
}

// pass moves the cursor past what is not there, and past what the caller may not see.
func (f *follower) pass(place int64) {
	f.cursor = max(f.cursor, place)
	if !f.seen.byOrdinal() {
		f.position = f.cursor
	}
}

// sayCaughtUp tells the caller, once, that everything stored before it was admitted is delivered, when the cursor has come that
// far.
func (f *follower) sayCaughtUp(passed int64) error {
	if f.caughtUp || passed < f.history {
		return nil
	}
	f.caughtUp, f.position = true, max(f.position, f.lastPosition)
	return f.send(delivery{caughtUp: true, position: f.position})
}

// deliver hands the first of some items on and moves the cursor past it. It hands the item on if the caller may see it, the item was not
// evicted and its time has not run out; an annotation goes by its message. It returns outdated when it does not know the current
// rules of the item's channel, or whether an old message that was annotated is the caller's to see.
func (f *follower) deliver(ctx context.Context, found *reading.LogPage, items []reading.Item) (outdated bool, err error) {
	it := items[0]
	entry, keep := f.entry(it), f.filter.Keeps(it)
	if m := it.Judged(); m != nil {
		in, known := f.stateOf(found, m.ChannelNo)
		if !known {
			return true, nil
		}
		viewer := f.viewerIn(in.Channel)
		if !sees(viewer, it, in.Count.Floor, entry.Now) {
			if f.mustReadOwn(it, viewer, in.Count.Floor, entry.Now) {
				f.live = false
				return true, nil
			}
			f.moveTo(it)
			return false, nil
		}
		entry = entry.In(in.Channel)
		if keep {
			if entry.Attention, err = f.attend(ctx, found, items, in, entry.Now); err != nil {
				return false, err
			}
		}
	}
	f.moveTo(it)
	if !keep {
		return false, nil
	}
	return false, f.hand(ctx, delivery{Entry: entry, position: entry.Position})
}

// sees reports whether a viewer sees a message or an annotation in streams.
func sees(viewer message.Viewer, it reading.Item, floor int64, now time.Time) bool {
	m := it.Message
	if it.Annotation != nil {
		m, viewer, now = it.Annotation.Sight(viewer, now)
	}
	return viewer.Sees(m, message.Listed, floor, now)
}

// stateOf returns the state of a log page's channel as of the latest shared page or, under the same rules, as it was read.
// It returns false when the rules have changed since the page was asked for, unless the page was read under them already.
func (f *follower) stateOf(found *reading.LogPage, channelNo int64) (reading.ChannelState, bool) {
	if known, ok := f.seen.StateOf(channelNo); ok {
		return known, true
	}
	if f.readUnder != f.seen.Head.Epoch && found.Head.Epoch != f.seen.Head.Epoch {
		return reading.ChannelState{}, false
	}
	return found.StateOf(channelNo)
}

func (f *follower) moveTo(it reading.Item) {
	f.cursor, f.position = it.Place, it.Position()
}

// entry returns an item as an entry of now.
func (f *follower) entry(it reading.Item) reading.Entry {
	return reading.Entry{
		Position: it.Position(), IntentNo: f.seen.Head.IntentNo, IntentID: f.seen.Head.IntentID,
		Message: it.Message, Event: it.Event, Annotation: it.Annotation, Audit: it.Audit, Now: f.now(), Encodings: it.Encodings,
	}
}

// now is the time for a delivery: that of the shared page, or a later one when the client took its time.
func (f *follower) now() time.Time {
	if now := f.tails.DB.Now(); now.After(f.seen.Now) {
		return now
	}
	return f.seen.Now
}
