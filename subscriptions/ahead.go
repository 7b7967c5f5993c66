package subscriptions

import (
	"context"
	"time"

	"openintent/messaging"
	"openintent/messaging/reading"
)

// hasNews reports whether something is not gathered yet.
func (seen *progress) hasNews() bool {
	for _, b := range seen.backlogs {
		if seen.states[b.intentNo].LastPosition > b.stored {
			return true
		}
	}
	return false
}

// goAhead reserves numbers for the stream. From then on, it sends what is new before that is stored. If the stream took over from
// one that may have crashed, it is careful at first: what lay in the intents' logs then is stored before it is sent. Otherwise a
// delivery that makes servers crash would come as a first attempt for ever.
func (st *deliveryStream) goAhead(ctx context.Context) error {
	l := &ledger{
		no: st.sub.no, id: st.sub.id, subscriber: st.sub.subscriber, name: st.consumer.name, settler: st.service.settler, wake: st.watch.Wake,
		longest:    min(longestSettleDelay, st.sub.acknowledgeTime()/2),
		unfinished: make(map[int64]unfinishedDelivery), acknowledged: make(map[int64]struct{}), moved: make(map[int64]struct{}),
		positions: make(map[int64]int64), stored: make(map[int64]int64), ends: make(map[int64]messaging.LogEnd),
	}
	err := st.service.changes.change(ctx, l.no, wanted{}, func(c *change) error {
		locked := c.locked
		if err := locked.admits(l.name, c.now); err != nil {
			return err
		}
		locked.abandon()
		l.next, l.end = locked.lastNumber+1, locked.lastNumber+blockSize
		l.given, l.settled = locked.offeredThrough, locked.offeredThrough
		l.last, locked.reservedThrough = locked.lastNumber, l.end
		return nil
	})
	if err != nil {
		return err
	}
	st.ledger, st.gatherer.ledger = l, l
	st.service.settler.open(l)
	return nil
}

// stopAhead ends the ledger. settled is true if everything that was sent is stored.
func (st *deliveryStream) stopAhead(ctx context.Context) (settled bool) {
	l := st.ledger
	if l == nil {
		return true
	}
	st.ledger, st.gatherer.ledger = nil, nil
	st.gatherer.beginPass() // what the ledger has passed may not be stored
	st.consumer.mayHaveGiven(l.reserved())
	settled = l.idle()
	if !settled {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releasePatience)
		defer cancel()
		settled = l.settle(ctx) == nil
	}
	l.fence(errConsumerLost)
	return settled
}

// deliverAhead sends what is due and then what is new. wait is how long to wait for a wake-up before the next call.
func (st *deliveryStream) deliverAhead(ctx context.Context, seen *progress) (wait time.Duration, err error) {
	o := seen.offering
	if o.overdue || len(o.due) > 0 {
		if err := st.ledger.storeAcknowledged(ctx, 0); err != nil {
			return 0, err
		}
	}
	if o.overdue {
		_, err := st.service.giveUp(ctx, st.sub.no)
		return 0, err
	}
	unsettled := seen.ahead.unsettled
	room := min(st.maxOutstanding-int(o.outstanding)-unsettled, maxUnfinished-int(o.unfinished)-unsettled)
	if due := o.due[:max(0, min(len(o.due), st.maxOutstanding-int(o.outstanding)-unsettled))]; len(due) > 0 {
		return 0, st.sendAgain(ctx, due) // before anything newer; if there is room for none of it, there is none for that either
	}
	ended, sent := false, 0
	st.ends.begin(seen)
	for i := range seen.backlogs {
		for done := false; !done && sent < room; {
			count := 0
			count, done, ended, err = st.sendPage(ctx, &seen.backlogs[i], room-sent)
			if sent += count; err != nil {
				return 0, err
			}
			if done {
				delete(st.gatherer.behind, seen.backlogs[i].intentNo)
			}
		}
	}
	full := sent >= room
	switch {
	case full && len(seen.backlogs) > 0:
		err = st.gatherer.checkAccess(ctx, st.sub, st.ledger.position(seen.backlogs[0].intentNo))
	case ended && int(o.unfinished)+unsettled+sent == 0:
		err = errChannelClosed
	}
	if err != nil || seen.more && !full || (full || ended) && !st.ledger.await(seen.ahead) {
		return 0, err
	}
	if wait = st.pause(o, full); unsettled+sent > 0 { // these are due again before the stream looks the next time
		wait = min(wait, st.sub.acknowledgeTime())
	}
	if !full && !ended {
		st.ends.open(room - sent)
	}
	return wait, nil
}

// sendAgain sends deliveries that are stored and due.
func (st *deliveryStream) sendAgain(ctx context.Context, due []delivery) error {
	parcels, err := st.service.offer(ctx, st.sub, st.consumer.name, due, 0)
	if err != nil {
		return err
	}
	st.ledger.noteStored(parcels)
	return st.handAll(ctx, parcels)
}

// sendPage reads one page of a backlog and sends what is new in it. done is true when nothing is left of the backlog, and ended
// when nothing will ever follow in the subscription's channel.
func (st *deliveryStream) sendPage(
	ctx context.Context, b *backlog, room int,
) (sent int, done, ended bool, err error) {
	after := st.ledger.position(b.intentNo)
	page, err := st.service.readPage(ctx, st.sub, st.sub.filter.Attention, b.intentNo, after, min(room, gatherPage))
	if isRefusal(err) && st.sub.wide() {
		st.gatherer.refuse(b)
		return 0, true, false, nil
	}
	if err != nil {
		return 0, false, false, err
	}
	st.ledger.reads(b.intentNo, page.Log)
	sent, stale, err := st.sendEntries(ctx, page.Entries)
	if err != nil || stale > 0 {
		st.ledger.pass(b.intentNo, stale-1)
		return sent, false, false, err
	}
	st.ledger.pass(b.intentNo, page.Through)
	st.ends.reached(b.intentNo, page.End)
	return sent, page.Through >= min(b.through, page.Log.Position) || page.Through <= after, page.Ended, nil
}

// sendEntries sends what is new among the entries of a page. stale is the position of the first one that was read too long ago to be
// sent, or 0.
func (st *deliveryStream) sendEntries(ctx context.Context, entries []reading.Entry) (sent int, stale int64, err error) {
	offered := entries[:0:len(entries)] // the page is the stream's own
	defer func() {
		if len(offered) > 0 {
			st.service.messaging.RecordOffered(st.sub.subscriber, offered...)
		}
	}()
	for i, entry := range entries {
		waited, err := st.makeReady(ctx)
		if err != nil {
			return len(offered), 0, err
		}
		now := st.service.db.Now()
		if (i > 0 || waited) && now.Sub(entry.ReadAt) > freshFor {
			return len(offered), entry.Position, nil
		}
		if _, shown := entry.At(now, st.sub.reader()); !shown || !st.sub.isNewEnough(entry) {
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
func (st *deliveryStream) makeReady(ctx context.Context) (waited bool, err error) {
	if st.ledger.spent() {
		if err := st.ledger.settle(ctx); err != nil {
			return false, err
		}
		waited = true
	}
	if st.consumer.leased(st.service.db.Now()) {
		return waited, nil
	}
	return true, st.consumer.confirm(ctx)
}

// sendNew numbers an entry and sends it. The stream was made ready for that.
func (st *deliveryStream) sendNew(ctx context.Context, entry reading.Entry, now time.Time) error {
	place := delivery{intentNo: entry.IntentNo, position: entry.Position, channelNo: entry.ChannelNo}.attempted(st.sub, now)
	given, err := st.ledger.give(place)
	if err != nil {
		return err
	}
	wire, err := st.toSend(given, &entry)
	if err != nil {
		return err
	}
	handed := st.service.traceDelivery(ctx, st.sub, parcel{delivery: given, entry: entry, wire: wire})
	err = st.consumer.whileBusy(func() error { return asSendError(st.send(wire)) })
	handed(err)
	return err
}
