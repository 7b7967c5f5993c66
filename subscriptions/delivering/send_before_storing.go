package delivering

import (
	"context"
	"time"

	"openintent/messaging/reading"
	"openintent/subscriptions/record"
)

// hasNews reports whether something is not gathered yet.
func (seen *Progress) hasNews() bool {
	for _, b := range seen.Backlogs {
		if seen.States[b.IntentNo].LastPosition > b.stored {
			return true
		}
	}
	return false
}

// goAhead reserves numbers for the stream. From then on, it sends what is new before that is stored. If the stream took over from
// one that may have crashed, it is careful at first: what lay in the intents' logs then is stored before it is sent. Otherwise a
// delivery that makes servers crash would come as a first attempt for ever.
func (st *Stream) goAhead(ctx context.Context) error {
	l := st.supplier.settler.NewLedger(st.sub, st.consumer.Name, st.watch.Wake)
	err := st.supplier.changes.Change(ctx, st.sub.No, record.Wanted{}, func(c *record.Change) error {
		if err := c.Locked.Admits(st.consumer.Name, c.Now); err != nil {
			return err
		}
		l.Begin(c.Locked)
		return nil
	})
	if err != nil {
		return err
	}
	st.ledger, st.gatherer.ledger = l, l
	st.supplier.settler.Open(l)
	return nil
}

// stopAhead ends the ledger. settled is true if everything that was sent is stored.
func (st *Stream) stopAhead(ctx context.Context) (settled bool) {
	l := st.ledger
	if l == nil {
		return true
	}
	st.ledger, st.gatherer.ledger = nil, nil
	st.gatherer.BeginPass() // what the ledger has passed may not be stored
	st.consumer.mayHaveGiven(l.Reserved())
	settled = l.Idle()
	if !settled {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releasePatience)
		defer cancel()
		settled = l.Settle(ctx) == nil
	}
	l.Fence(record.ErrConsumerLost)
	return settled
}

// deliverAhead sends what is due and then what is new. wait is how long to wait for a wake-up before the next call.
func (st *Stream) deliverAhead(ctx context.Context, seen *Progress) (wait time.Duration, err error) {
	o := seen.offering
	if o.overdue || len(o.due) > 0 {
		if err := st.ledger.StoreAcknowledged(ctx, 0); err != nil {
			return 0, err
		}
	}
	if o.overdue {
		_, err := st.supplier.GiveUp(ctx, st.sub.No)
		return 0, err
	}
	unsettled := seen.ahead.Unsettled
	room := min(st.MaxOutstanding-int(o.outstanding)-unsettled, record.MaxUnfinished-int(o.unfinished)-unsettled)
	if due := o.due[:max(0, min(len(o.due), st.MaxOutstanding-int(o.outstanding)-unsettled))]; len(due) > 0 {
		return 0, st.sendAgain(ctx, due) // before anything newer; if there is room for none of it, there is none for that either
	}
	ended, sent := false, 0
	st.ends.begin(seen)
	for i := range seen.Backlogs {
		for done := false; !done && sent < room; {
			count := 0
			count, done, ended, err = st.sendPage(ctx, &seen.Backlogs[i], room-sent)
			if sent += count; err != nil {
				return 0, err
			}
			if done {
				delete(st.gatherer.Behind, seen.Backlogs[i].IntentNo)
			}
		}
	}
	full := sent >= room
	switch {
	case full && len(seen.Backlogs) > 0:
		err = st.gatherer.checkAccess(ctx, st.sub, st.ledger.Position(seen.Backlogs[0].IntentNo))
	case ended && int(o.unfinished)+unsettled+sent == 0:
		err = ErrChannelClosed
	}
	if err != nil || seen.More && !full || (full || ended) && !st.ledger.Await(seen.ahead) {
		return 0, err
	}
	if wait = st.pause(o, full); unsettled+sent > 0 { // these are due again before the stream looks the next time
		wait = min(wait, st.sub.AcknowledgeTime())
	}
	if !full && !ended {
		st.ends.open(room - sent)
	}
	return wait, nil
}

// sendAgain sends deliveries that are stored and due.
func (st *Stream) sendAgain(ctx context.Context, due []record.Delivery) error {
	parcels, err := st.supplier.offer(ctx, st.sub, st.consumer.Name, due, 0)
	if err != nil {
		return err
	}
	for _, p := range parcels {
		st.ledger.NoteStored(p.Delivery)
	}
	return st.handAll(ctx, parcels)
}

// sendPage reads one page of a backlog and sends what is new in it. done is true when nothing is left of the backlog, and ended
// when nothing will ever follow in the subscription's channel.
func (st *Stream) sendPage(
	ctx context.Context, b *Backlog, room int,
) (sent int, done, ended bool, err error) {
	after := st.ledger.Position(b.IntentNo)
	page, err := st.supplier.readPage(ctx, st.sub, st.sub.Filter.Attention, b.IntentNo, after, min(room, GatherPage))
	if IsRefusal(err) && st.sub.Wide() {
		st.gatherer.refuse(b)
		return 0, true, false, nil
	}
	if err != nil {
		return 0, false, false, err
	}
	st.ledger.Reads(b.IntentNo, page.Log)
	sent, stale, err := st.sendEntries(ctx, page.Entries)
	if err != nil || stale > 0 {
		st.ledger.Pass(b.IntentNo, stale-1)
		return sent, false, false, err
	}
	st.ledger.Pass(b.IntentNo, page.Through)
	st.ends.reached(b.IntentNo, page.End)
	return sent, page.Through >= min(b.through, page.Log.Position) || page.Through <= after, page.Ended, nil
}

// sendEntries sends what is new among the entries of a page. stale is the position of the first one that was read too long ago to be
// sent, or 0.
func (st *Stream) sendEntries(ctx context.Context, entries []reading.Entry) (sent int, stale int64, err error) {
	offered := entries[:0:len(entries)] // the page is the stream's own
	defer func() {
		if len(offered) > 0 {
			st.supplier.messaging.RecordOffered(st.sub.Subscriber, offered...)
		}
	}()
	for i, entry := range entries {
		waited, err := st.makeReady(ctx)
		if err != nil {
			return len(offered), 0, err
		}
		now := st.supplier.db.Now()
		if (i > 0 || waited) && now.Sub(entry.ReadAt) > FreshFor {
			return len(offered), entry.Position, nil
		}
		if _, shown := entry.At(now, st.sub.Reader()); !shown || !st.sub.IsNewEnough(entry) {
			continue
		}
		if err := st.sendNew(ctx, entry, now); err != nil {
			return len(offered), 0, err
		}
		offered = append(offered, entry)
	}
	return len(offered), 0, nil
}

// makeReady makes sure that there is a number to give, and that nobody else can have taken the lease. waited is true if that took a
// transaction.
func (st *Stream) makeReady(ctx context.Context) (waited bool, err error) {
	if st.ledger.Spent() {
		if err := st.ledger.Settle(ctx); err != nil {
			return false, err
		}
		waited = true
	}
	if st.consumer.Leased(st.supplier.db.Now()) {
		return waited, nil
	}
	return true, st.consumer.Confirm(ctx)
}

// sendNew numbers an entry and sends it. The stream was made ready for that.
func (st *Stream) sendNew(ctx context.Context, entry reading.Entry, now time.Time) error {
	place := record.Delivery{IntentNo: entry.IntentNo, Position: entry.Position, ChannelNo: entry.ChannelNo}.Attempted(st.sub, now)
	given, err := st.ledger.Give(place)
	if err != nil {
		return err
	}
	wire, err := st.toSend(given, &entry)
	if err != nil {
		return err
	}
	handed := st.supplier.traceDelivery(ctx, st.sub, parcel{Delivery: given, entry: entry, Wire: wire})
	err = st.consumer.whileBusy(func() error { return AsSendError(st.Send(wire)) })
	handed(err)
	return err
}
