package subscriptions

import (
	"context"
	"maps"
	"slices"
	"time"

	"openintent/agents"
	"openintent/internal/fault"
	"openintent/messaging"
	"openintent/messaging/reading"
)

const (
	// gatherPage is the largest number of deliveries that one page of an intent's log yields.
	gatherPage = 128
	// maxUnfinished bounds the unfinished deliveries of a subscription. When it is full, gathering waits for acknowledgements, and the
	// intents' logs keep the rest.
	maxUnfinished = 1000
	// unwritten is how many positions a gatherer may be ahead of the stored position. So a busy intent with nothing for the
	// subscriber does not cost a write for each message.
	unwritten = 256
)

// fenced is stored as the consumer when a fetch has numbered deliveries after the lease of a stream has run out. So that stream can
// store nothing any more, and the next one knows that it may have crashed.
const fenced = "none"

// gatherer numbers the entries that come after a subscription's positions in the logs of its intents. Several gatherers may
// work for one subscription simultaneously, even in different processes. A gatherer reads a page without a lock. It numbers the
// page under the subscription's lock, and only if nobody has moved the intent's position since; otherwise somebody else has
// numbered the page.
type gatherer struct {
	service    *Service
	no         int64
	subscriber string
	// intentNo is the only intent that the subscription follows, or 0.
	intentNo int64
	// consumer is the stream that gathers; it is empty for a fetch and for the poster. ledger is the stream's while it is ahead.
	consumer string
	ledger   *ledger
	// scanned is how far this gatherer has read beyond the stored positions without finding anything.
	scanned map[int64]scan
	// refused contains the intents to which the subscriber has no access, with the epoch of the rules that refused it. What does not fit is
	// asked again whenever something happens there.
	refused  map[int64]int64
	presence agents.Presence
	// passing is true until a pass has gone through all intents that reach the subscriber, and passed is how far it has come. behind are the
	// intents that the latest look found not gathered to their ends (progress.go).
	passing   bool
	passed    int64
	passBegan time.Time
	behind    map[int64]struct{}
	// lastNumber is the newest number as the latest look found it. anchor is set for an agent's own log.
	lastNumber int64
	anchor     *anchor
	// annotations tells whether scanned was read with annotations.
	annotations bool
	// full is true when the window was too full to gather everything the last time.
	full bool
}

func (s *Service) newGatherer(no int64, subscriber string, intentNo int64) *gatherer {
	return &gatherer{
		service: s, no: no, subscriber: subscriber, intentNo: intentNo, passing: intentNo == 0, passBegan: processTime(),
		scanned: make(map[int64]scan), refused: make(map[int64]int64),
	}
}

// wide reports whether the subscription follows everything that reaches the subscriber.
func (g *gatherer) wide() bool { return g.intentNo == 0 }

// numbered is an entry together with the delivery that was made from it, and when that was.
type numbered struct {
	delivery
	entry reading.Entry
	at    time.Time
}

// scan is how far a log was read, and how the log ended then.
type scan struct {
	through int64
	end     messaging.LogEnd
}

// endsOf returns how the logs of some intents ended when the gatherer, or the stream's ledger, read more of them than is stored.
func (g *gatherer) endsOf(intentNos []int64, ahead ledgerState) (ends []messaging.LogEnd) {
	for _, intentNo := range intentNos {
		if scanned, there := g.scanned[intentNo]; there {
			ends = append(ends, scanned.end)
		}
		if end, there := ahead.ends[intentNo]; there {
			ends = append(ends, end)
		}
	}
	return ends
}

// noteLosses makes the gatherer forget how far it has read logs that have lost commits (see message.ErrCursorBeyondLog).
func (g *gatherer) noteLosses(seen *progress) {
	maps.DeleteFunc(g.scanned, func(intentNo int64, scanned scan) bool {
		state, there := seen.states[intentNo]
		return there && scanned.end.Lost(state, seen.times)
	})
}

// refuse notes that the subscriber has no access to an intent, so that nothing is gathered from there.
func (g *gatherer) refuse(b *backlog) {
	if delete(g.behind, b.intentNo); len(g.refused) < maxBehind {
		g.refused[b.intentNo] = b.epoch
	}
}

// storeScanned stores how far the gatherer has read without finding anything, when these are very many intents. So the next one need not
// read them again.
func (g *gatherer) storeScanned(ctx context.Context, sub *subscription) error {
	if len(g.scanned) < maxBehind {
		return nil
	}
	var scanned places
	for intentNo, read := range g.scanned {
		scanned.add(g.no, intentNo, read.through)
	}
	err := g.service.changes.change(ctx, g.no, wanted{}, func(c *change) error {
		if !c.locked.active(c.now) || c.locked.filter.Annotations != sub.filter.Annotations {
			return nil
		}
		if err := c.beginNumbering(g.consumer); err != nil {
			return err
		}
		c.also(scanned.advance(c.tx)...)
		return nil
	})
	if err == nil {
		clear(g.scanned)
	}
	return err
}

// step gathers one page of a backlog and returns what this gatherer has numbered from it. done is true when nothing is left of
// the backlog. ended is true when nothing will ever follow in the subscription's channel. When the subscriber has no access to
// the intent, step skips it for a wide subscription, and returns the refusal for a subscription to that intent.
func (g *gatherer) step(
	ctx context.Context, sub *subscription, b *backlog, limit int,
) (found []numbered, done, ended bool, err error) {
	after := max(b.stored, g.scanned[b.intentNo].through)
	page, err := g.service.readPage(ctx, sub, sub.windowed(), b.intentNo, after, limit)
	var recalled []reading.Entry
	if err == nil && sub.digestSeconds > 0 {
		recalled, err = g.service.recalled(ctx, sub, b.intentNo, after, page.Through)
	}
	if isRefusal(err) && sub.wide() {
		g.refuse(b)
		return nil, true, false, nil
	}
	if err != nil {
		return nil, false, false, err
	}
	kept := slices.DeleteFunc(page.Entries, func(e reading.Entry) bool { return !sub.isNewEnough(e) })
	if len(recalled) > 0 {
		kept = slices.Concat(recalled, kept)
	}
	reached := page.Through >= min(b.through, page.Log.Position)
	switch {
	case page.Through <= after:
		return nil, true, page.Ended, nil
	case len(kept) == 0 && page.Through-b.stored < unwritten:
		g.scanned[b.intentNo] = scan{page.Through, page.Log}
		return nil, reached, page.Ended, nil
	}
	found, stored, err := g.service.number(ctx, sub, g.consumer, b.intentNo, after, page.Through, kept)
	if err != nil {
		return nil, false, false, err
	}
	b.stored = stored
	delete(g.scanned, b.intentNo)
	g.follows(sub.filter.Annotations)
	return found, stored >= min(b.through, page.Log.Position), page.Ended && stored >= page.Through, nil
}

// isRefusal reports whether an error means that the reader may not see what it asked for.
func isRefusal(err error) bool {
	if err == nil {
		return false
	}
	kind := fault.From(err).Kind
	return kind == fault.Denied || kind == fault.NotFound
}

// number gives the entries of a page the subscription's next numbers. It numbers nothing if somebody else has gathered beyond the beginning
// of the page, or if the page was read without annotations and the subscription numbers them by now. In the second case the given
// subscription says so from then on. In a subscription with windows, found only tells how many entries were taken. stored is how far the
// intent is gathered afterwards, and the given subscription says what the newest number is. Nobody but the consumer with the lease numbers
// what a stream may receive; an empty consumer stands for a fetch.
func (s *Service) number(
	ctx context.Context, sub *subscription, consumer string, intentNo, after, through int64, entries []reading.Entry,
) (found []numbered, stored int64, err error) {
	include, last := sub.include, sub.lastNumber
	want := wanted{intentNo: intentNo, waiting: sub.windowed()}
	err = s.changes.change(ctx, sub.no, want, func(c *change) error {
		found, stored, include = nil, through, sub.include
		defer func() { last = c.locked.lastNumber }()
		switch {
		case !c.locked.active(c.now):
			return errEnded
		case c.position > after, c.locked.filter.Annotations != sub.filter.Annotations:
			stored, include = c.position, c.locked.include
			return nil
		}
		if err := c.beginNumbering(consumer); err != nil {
			return err
		}
		c.gathered(intentNo, through)
		if want.waiting {
			found = make([]numbered, len(entries))
			c.letWait(after, entries)
			return nil
		}
		found = c.number(intentNo, entries)
		return nil
	})
	sub.including(include)
	sub.lastNumber = max(sub.lastNumber, last)
	return found, stored, err
}

// number gives entries the next numbers.
func (c *change) number(intentNo int64, entries []reading.Entry) []numbered {
	found := make([]numbered, len(entries))
	for i, entry := range entries {
		c.locked.lastNumber++
		d := delivery{number: c.locked.lastNumber, intentNo: intentNo, position: entry.Position, channelNo: entry.ChannelNo}
		if !c.locked.own() {
			d.dueAt = c.now
		}
		c.insert(d)
		found[i] = numbered{d, entry, c.now}
	}
	if len(entries) > 0 && c.locked.posted() {
		c.locked.postAt = c.now
	}
	return found
}

// beginNumbering refuses a consumer that may not number what a stream may receive. It makes sure that a stream whose lease has run out
// can store nothing any more.
func (c *change) beginNumbering(consumer string) error {
	s := c.locked
	if !s.streamed() {
		return nil
	}
	if err := s.admits(consumer, c.now); err != nil {
		return err
	}
	if s.consumer != consumer { // that stream's lease has run out
		s.consumer, s.consumerUntil = fenced, time.Time{}
	}
	s.abandon()
	return nil
}

// gather gathers as much as fits into a subscription's window. ended is true when the whole channel was gathered and nothing
// will follow in it.
func (g *gatherer) gather(ctx context.Context, seen *progress) (ended bool, err error) {
	g.full = false
	if seen.sub.windowed() {
		waits, err := g.service.readWaiting(ctx, g.no)
		if err != nil {
			return false, err
		}
		seen.unfinished += int64(len(waits))
	}
	for i := range seen.backlogs {
		b := &seen.backlogs[i]
		for done := false; !done; {
			room := maxUnfinished - int(seen.unfinished)
			if room <= 0 {
				g.full = true
				return false, g.checkAccess(ctx, seen.sub, b.stored)
			}
			var found []numbered
			if found, done, ended, err = g.step(ctx, seen.sub, b, min(room, gatherPage)); err != nil {
				return false, err
			}
			seen.unfinished += int64(len(found))
		}
		delete(g.behind, b.intentNo)
	}
	return ended, g.storeScanned(ctx, seen.sub)
}

// checkAccess refuses a subscriber that has lost access to what the subscription follows.
func (g *gatherer) checkAccess(ctx context.Context, sub *subscription, position int64) error {
	if sub.wide() {
		return nil
	}
	_, err := g.service.messaging.ReadFeed(ctx, sub.feed(sub.intentNo), position, 1)
	return err
}
