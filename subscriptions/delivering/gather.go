package delivering

import (
	"context"
	"maps"
	"slices"
	"time"

	"openintent/agents"
	"openintent/internal/fault"
	"openintent/messaging"
	"openintent/messaging/reading"
	"openintent/subscriptions/ledger"
	"openintent/subscriptions/record"
)

const (
	// GatherPage is the largest number of deliveries that one page of an intent's log yields.
	GatherPage = 128
)

// Gatherer numbers the entries that come after a subscription's positions in the logs of its intents. Several gatherers may
// work for one subscription simultaneously, even in different processes. A gatherer reads a page without a lock. It numbers the
// page under the subscription's lock, and only if nobody has moved the intent's position since; otherwise somebody else has
// numbered the page.
type Gatherer struct {
	supplier   *Supplier
	no         int64
	subscriber string
	// intentNo is the only intent that the subscription follows, or 0.
	intentNo int64
	// consumer is the stream that gathers; it is empty for a fetch and for the poster. ledger is the stream's while it is ahead.
	consumer string
	ledger   *ledger.Ledger
	// Scanned is how far this gatherer has read beyond the stored positions without finding anything.
	Scanned map[int64]ledger.Scan
	// refused contains the intents to which the subscriber has no access, with the epoch of the rules that refused it. What does not fit is
	// asked again whenever something happens there.
	refused  map[int64]int64
	presence agents.Presence
	// Passing is true until a pass has gone through all intents that reach the subscriber, and passed is how far it has come. Behind are the
	// intents that the latest look found not gathered to their ends (progress.go).
	Passing   bool
	passed    int64
	passBegan time.Time
	Behind    map[int64]struct{}
	// lastNumber is the newest number as the latest look found it. anchor is set for an agent's own log.
	lastNumber int64
	Anchor     *Anchor
	// annotations tells whether scanned was read with annotations.
	annotations bool
	// Full is true when the window was too full to gather everything the last time.
	Full bool
}

// NewGatherer makes a gatherer for a subscription. intentNo is the only intent that the subscription follows, or 0.
func (s *Supplier) NewGatherer(no int64, subscriber string, intentNo int64) *Gatherer {
	return &Gatherer{
		supplier: s, no: no, subscriber: subscriber, intentNo: intentNo, Passing: intentNo == 0, passBegan: record.ProcessTime(),
		Scanned: make(map[int64]ledger.Scan), refused: make(map[int64]int64),
	}
}

// wide reports whether the subscription follows everything that reaches the subscriber.
func (g *Gatherer) wide() bool { return g.intentNo == 0 }

// Numbered is an entry together with the delivery that was made from it, and when that was.
type Numbered struct {
	record.Delivery
	Entry reading.Entry
	at    time.Time
}

// endsOf returns how the logs of some intents ended when the gatherer, or the stream's ledger, read more of them than is stored.
func (g *Gatherer) endsOf(intentNos []int64, ahead ledger.State) (ends []messaging.LogEnd) {
	for _, intentNo := range intentNos {
		if scanned, there := g.Scanned[intentNo]; there {
			ends = append(ends, scanned.End)
		}
		if end, there := ahead.Ends[intentNo]; there {
			ends = append(ends, end)
		}
	}
	return ends
}

// noteLosses makes the gatherer forget how far it has read logs that have lost commits (see message.ErrCursorBeyondLog).
func (g *Gatherer) noteLosses(seen *Progress) {
	maps.DeleteFunc(g.Scanned, func(intentNo int64, scanned ledger.Scan) bool {
		state, there := seen.States[intentNo]
		return there && scanned.End.Lost(state, seen.times)
	})
}

// refuse notes that the subscriber has no access to an intent, so that nothing is gathered from there.
func (g *Gatherer) refuse(b *Backlog) {
	if delete(g.Behind, b.IntentNo); len(g.refused) < record.MaxBehind {
		g.refused[b.IntentNo] = b.epoch
	}
}

// StoreScanned stores how far the gatherer has read without finding anything, when these are very many intents. So the next one need not
// read them again.
func (g *Gatherer) StoreScanned(ctx context.Context, sub *record.Subscription) error {
	if len(g.Scanned) < record.MaxBehind {
		return nil
	}
	var scanned record.Places
	for intentNo, read := range g.Scanned {
		scanned.Add(g.no, intentNo, read.Through)
	}
	err := g.supplier.changes.Change(ctx, g.no, record.Wanted{}, func(c *record.Change) error {
		if !c.Locked.Active(c.Now) || c.Locked.Filter.Annotations != sub.Filter.Annotations {
			return nil
		}
		if err := c.BeginNumbering(g.consumer); err != nil {
			return err
		}
		c.Also(scanned.Advance(c.Tx)...)
		return nil
	})
	if err == nil {
		clear(g.Scanned)
	}
	return err
}

// Step gathers one page of a backlog and returns what this gatherer has numbered from it. done is true when nothing is left of
// the backlog. ended is true when nothing will ever follow in the subscription's channel. When the subscriber has no access to
// the intent, step skips it for a wide subscription, and returns the refusal for a subscription to that intent.
func (g *Gatherer) Step(
	ctx context.Context, sub *record.Subscription, b *Backlog, limit int,
) (found []Numbered, done, ended bool, err error) {
	after := max(b.stored, g.Scanned[b.IntentNo].Through)
	page, err := g.supplier.readPage(ctx, sub, sub.Windowed(), b.IntentNo, after, limit)
	var recalled []reading.Entry
	if err == nil && sub.DigestSeconds > 0 {
		recalled, err = g.supplier.recalled(ctx, sub, b.IntentNo, after, page.Through)
	}
	if IsRefusal(err) && sub.Wide() {
		g.refuse(b)
		return nil, true, false, nil
	}
	if err != nil {
		return nil, false, false, err
	}
	kept := slices.DeleteFunc(page.Entries, func(e reading.Entry) bool { return !sub.IsNewEnough(e) })
	if len(recalled) > 0 {
		kept = slices.Concat(recalled, kept)
	}
	reached := page.Through >= min(b.through, page.Log.Position)
	switch {
	case page.Through <= after:
		return nil, true, page.Ended, nil
	case len(kept) == 0 && page.Through-b.stored < record.Unwritten:
		g.Scanned[b.IntentNo] = ledger.Scan{Through: page.Through, End: page.Log}
		return nil, reached, page.Ended, nil
	}
	found, stored, err := g.supplier.number(ctx, sub, g.consumer, b.IntentNo, after, page.Through, kept)
	if err != nil {
		return nil, false, false, err
	}
	b.stored = stored
	delete(g.Scanned, b.IntentNo)
	g.follows(sub.Filter.Annotations)
	return found, stored >= min(b.through, page.Log.Position), page.Ended && stored >= page.Through, nil
}

// IsRefusal reports whether an error means that the reader may not see what it asked for.
func IsRefusal(err error) bool {
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
func (s *Supplier) number(
	ctx context.Context, sub *record.Subscription, consumer string, intentNo, after, through int64, entries []reading.Entry,
) (found []Numbered, stored int64, err error) {
	include, last := sub.Include, sub.LastNumber
	want := record.Wanted{IntentNo: intentNo, Waiting: sub.Windowed()}
	err = s.changes.Change(ctx, sub.No, want, func(c *record.Change) error {
		found, stored, include = nil, through, sub.Include
		defer func() { last = c.Locked.LastNumber }()
		switch {
		case !c.Locked.Active(c.Now):
			return record.ErrEnded
		case c.Position > after, c.Locked.Filter.Annotations != sub.Filter.Annotations:
			stored, include = c.Position, c.Locked.Include
			return nil
		}
		if err := c.BeginNumbering(consumer); err != nil {
			return err
		}
		c.Gathered(intentNo, through)
		if want.Waiting {
			found = make([]Numbered, len(entries))
			letWait(c, after, entries)
			return nil
		}
		found = numberIn(c, intentNo, entries)
		return nil
	})
	sub.Including(include)
	sub.LastNumber = max(sub.LastNumber, last)
	return found, stored, err
}

// numberIn gives entries the next numbers.
func numberIn(c *record.Change, intentNo int64, entries []reading.Entry) []Numbered {
	found := make([]Numbered, len(entries))
	for i, entry := range entries {
		c.Locked.LastNumber++
		d := record.Delivery{Number: c.Locked.LastNumber, IntentNo: intentNo, Position: entry.Position, ChannelNo: entry.ChannelNo}
		if !c.Locked.Own() {
			d.DueAt = record.AtOnce(c.Now)
		}
		c.Insert(d)
		found[i] = Numbered{d, entry, c.Now}
	}
	if len(entries) > 0 && c.Locked.Posted() {
		c.Locked.PostAt = c.Now
	}
	return found
}

// Gather gathers as much as fits into a subscription's window. ended is true when the whole channel was gathered and nothing
// will follow in it.
func (g *Gatherer) Gather(ctx context.Context, seen *Progress) (ended bool, err error) {
	g.Full = false
	if seen.Sub.Windowed() {
		waits, err := g.supplier.readWaiting(ctx, g.no)
		if err != nil {
			return false, err
		}
		seen.unfinished += int64(len(waits))
	}
	for i := range seen.Backlogs {
		b := &seen.Backlogs[i]
		for done := false; !done; {
			room := record.MaxUnfinished - int(seen.unfinished)
			if room <= 0 {
				g.Full = true
				return false, g.checkAccess(ctx, seen.Sub, b.stored)
			}
			var found []Numbered
			if found, done, ended, err = g.Step(ctx, seen.Sub, b, min(room, GatherPage)); err != nil {
				return false, err
			}
			seen.unfinished += int64(len(found))
		}
		delete(g.Behind, b.IntentNo)
	}
	return ended, g.StoreScanned(ctx, seen.Sub)
}

// checkAccess refuses a subscriber that has lost access to what the subscription follows.
func (g *Gatherer) checkAccess(ctx context.Context, sub *record.Subscription, position int64) error {
	if sub.Wide() {
		return nil
	}
	_, err := g.supplier.messaging.ReadFeed(ctx, sub.Feed(sub.IntentNo), position, 1)
	return err
}

// follows notes whether the subscription numbers annotations. If that has changed, what the gatherer read ahead was read without them, and
// has to be read again: then it returns true.
func (g *Gatherer) follows(annotations bool) (again bool) {
	if g.annotations == annotations {
		return false
	}
	g.annotations = annotations
	again = len(g.Scanned) > 0
	clear(g.Scanned)
	return again
}
