package following

import (
	"math"
	"time"

	"openintent/channels"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/message"
	"openintent/messaging/reading"
)

// AnnotatedIntentScope is one intent, by its number, with the annotations of its messages. It is a scope of its own, so that those
// who follow no annotations read none.
type AnnotatedIntentScope int64

func (n AnnotatedIntentScope) topics() []any { return IntentScope(n).topics() }

func (n AnnotatedIntentScope) look(t *Tails, tx *database.Tx, before *sharedPage, agentIDs []string) (*sharedPage, error) {
	return lookAtLog(t, tx, before, agentIDs, reading.LogQuery{
		IntentNo: int64(n), Through: math.MaxInt64, Filter: reading.Filter{Annotations: true},
	})
}

func (n AnnotatedIntentScope) admit(seen *sharedPage, by caller.Caller) error {
	return IntentScope(n).admit(seen, by)
}

func (n AnnotatedIntentScope) cursorAt(_ *database.Tx, _ *sharedPage, position int64) (int64, error) {
	return position, nil
}

func (n AnnotatedIntentScope) read(t *Tails, tx *database.Tx, f *follower) (*reading.LogPage, error) {
	return IntentScope(n).read(t, tx, f)
}

// AnnotatedChannelScope is one channel with the annotations of its messages. These have no ordinals, so the scope is the intent's
// log narrowed to the channel, and its places are positions. It takes no handover, because an annotation may lie before one.
type AnnotatedChannelScope channels.Key

func (c AnnotatedChannelScope) topics() []any { return ChannelScope(c).topics() }

// look reads the rows as a look at the intent does, and then the channel's own state.
func (c AnnotatedChannelScope) look(t *Tails, tx *database.Tx, before *sharedPage, agentIDs []string) (*sharedPage, error) {
	next, err := lookAtLog(t, tx, before, agentIDs, reading.LogQuery{
		IntentNo: c.IntentNo, ChannelNo: c.ChannelNo, Through: before.Through + reading.MaxSpan,
		Filter: reading.Filter{Annotations: true},
	})
	if err != nil {
		return nil, err
	}
	key := channels.Key(c)
	channel, err := t.Reader.Channels.Rules(tx, key, next.Head.Epoch)
	if err != nil {
		return nil, err
	}
	count, err := channels.LoadCount(tx, key)
	if err != nil {
		return nil, err
	}
	next.Channel, next.Count, next.positions = channel, count, true
	if next.Closed() { // its requests have expired with it, so what was shared before is read again
		next.Items, next.size, next.after = nil, 0, next.Through
	}
	return next, nil
}

func (c AnnotatedChannelScope) admit(seen *sharedPage, by caller.Caller) error {
	return ChannelScope(c).admit(seen, by)
}

func (c AnnotatedChannelScope) cursorAt(_ *database.Tx, _ *sharedPage, position int64) (int64, error) {
	return position, nil
}

func (c AnnotatedChannelScope) read(t *Tails, tx *database.Tx, f *follower) (*reading.LogPage, error) {
	return f.readLog(t, tx, reading.LogQuery{IntentNo: c.IntentNo, ChannelNo: c.ChannelNo})
}

// mustReadOwn reports whether the follower must read an annotation for itself. What the tail shares was read for nobody, so it
// does not tell whether this caller has read or answered the message.
func (f *follower) mustReadOwn(it reading.Item, viewer message.Viewer, floor int64, now time.Time) bool {
	shared := it.Encodings != nil
	if !shared || it.Annotation == nil {
		return false
	}
	m, viewer, now := it.Annotation.Sight(viewer, now)
	return viewer.MaySee(m, floor, now)
}
