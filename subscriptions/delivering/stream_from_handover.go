package delivering

import (
	"context"
	"time"

	"openintent/agents"
	"openintent/messaging"
	"openintent/messaging/wake"
	"openintent/subscriptions/record"
)

// maxEnds bounds in how many intents a stream goes on by what is handed over. Beyond that it begins anew and looks.
const maxEnds = 64

// logEnds says how an active stream that has sent everything goes on by what this replica's writer hands over, without a look at its
// subscription or at a log. It goes on as long as nothing but the handed-over commits can have changed what a look would find:
//
//   - The stream was woken by commits alone that were handed over. Whatever else concerns it makes it look.
//   - Each commit found its intent exactly as the stream had read it (messaging.FeedFromHandover).
//   - There is room in the window. What was sent since the look counts, and what was acknowledged since does not.
//   - Nothing that was sent is due again.
//   - The subscription has not expired, and nobody else can have taken the lease.
type logEnds struct {
	// byIntent are how the intents' logs were found at their ends, for a subscriber with this record.
	byIntent map[int64]*messaging.FeedEnd
	presence agents.Presence
	// room is how many deliveries the stream may send before it looks again; 0 if it looks at once.
	room int
	// due is when a delivery that was sent is due again, so that it comes before anything new; it is zero if none is.
	due time.Time
}

// begin begins a look, with what it has read of the subscription.
func (h *logEnds) begin(seen *Progress) {
	if h.byIntent == nil || h.presence != seen.Presence {
		h.byIntent, h.presence = make(map[int64]*messaging.FeedEnd), seen.Presence
	}
	h.room, h.due = 0, record.Earliest(seen.offering.next, seen.ahead.Due)
}

// reached notes that the stream has read an intent's log to its end. A log that was read only in part has none.
func (h *logEnds) reached(intentNo int64, end *messaging.FeedEnd) {
	if _, known := h.byIntent[intentNo]; !known && len(h.byIntent) >= maxEnds {
		clear(h.byIntent)
	}
	if end != nil {
		h.byIntent[intentNo] = end
	}
}

// open lets the stream go on by what is handed over.
func (h *logEnds) open(room int) { h.room = room }

// rest waits until it is time to look. What is handed over meanwhile is sent without a look.
func (st *Stream) rest(ctx context.Context, wait time.Duration) error {
	until := record.ProcessTime().Add(wait)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case <-st.watch.C():
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		sent, taken, err := st.takeHandovers(ctx)
		if err != nil || !taken {
			return err
		}
		if again := record.ProcessTime().Add(st.sub.AcknowledgeTime()); sent && again.Before(until) {
			until = again
			timer.Reset(st.sub.AcknowledgeTime())
		}
	}
}

// takeHandovers sends what was handed over. taken is false if the stream has to look.
func (st *Stream) takeHandovers(ctx context.Context) (sent, taken bool, err error) {
	given, look := st.watch.Take()
	if look {
		worth, err := st.watch.Worth(ctx)
		return false, !worth && err == nil, nil
	}
	for _, stored := range given {
		count, taken, err := st.takeOne(ctx, stored)
		if sent = sent || count > 0; err != nil || !taken {
			return sent, false, err
		}
	}
	return sent, true, nil
}

// takeOne sends what one commit handed over.
func (st *Stream) takeOne(ctx context.Context, stored *wake.Handover) (sent int, taken bool, err error) {
	h, now := &st.ends, st.supplier.db.Now()
	intentNo := stored.Key.IntentNo
	end := h.byIntent[intentNo]
	switch {
	case st.ledger == nil || end == nil || !st.sub.Active(now):
		return 0, false, nil
	case end.Has(stored):
		return 0, true, nil // the look has seen it
	case !h.due.IsZero() && !now.Before(h.due), st.ledger.Position(intentNo) != stored.Before.LastPosition:
		return 0, false, nil
	}
	page, known := st.supplier.messaging.FeedFromHandover(st.sub.Feed(intentNo), end, stored)
	if !known || len(page.Entries) > h.room {
		delete(h.byIntent, intentNo)
		return 0, false, nil
	}
	st.ledger.Reads(intentNo, page.Log)
	sent, stale, err := st.sendEntries(ctx, page.Entries)
	if h.room -= sent; sent > 0 {
		h.due = record.Earliest(h.due, now.Add(st.sub.AcknowledgeTime()))
	}
	if err != nil || stale > 0 {
		delete(h.byIntent, intentNo)
		st.ledger.Pass(intentNo, stale-1)
		return sent, false, err
	}
	st.ledger.Pass(intentNo, page.Through)
	return sent, true, nil
}
