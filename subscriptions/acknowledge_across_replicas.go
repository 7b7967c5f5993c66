package subscriptions

import (
	"context"
	"slices"
	"strconv"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/messaging/message"
	"openintent/subscriptions/ledger"
	"openintent/subscriptions/record"
)

const (
	// settledWithin is how long an acknowledgement waits until another replica has stored the delivery. It is longer than
	// longestSettleDelay.
	settledWithin = 5 * time.Second
	// The pause between two looks grows from the first to the longest.
	firstSettledPause, longestSettledPause = 5 * time.Millisecond, 200 * time.Millisecond
)

// acknowledgeAhead acknowledges deliveries that a stream of this replica has sent to the caller, without reading anything. It returns
// nil if only the database can tell what to answer. Then the acknowledgement is not complete.
func (s *Service) acknowledgeAhead(
	ctx context.Context, req *openintentv1.AcknowledgeDeliveriesRequest,
) (*openintentv1.Subscription, error) {
	l := s.ledgerOf(ctx, req.GetSubscriptionId())
	if l == nil || len(req.GetNumbers()) == 0 || req.Through != nil {
		return nil, nil // only the database can answer this
	}
	state, done, err := l.Acknowledge(ctx, sorted(req.GetNumbers()), 0)
	if err != nil || !done || state == nil {
		return nil, err
	}
	return summaryToWire(*state, true), nil
}

// ledgerOf returns the ledger of a subscription of the caller's. It returns nil if there is none on this replica, or if only a look tells
// whether the caller may acknowledge.
func (s *Service) ledgerOf(ctx context.Context, id string) *ledger.Ledger {
	c, err := caller.Known(ctx)
	l := s.settler.Named(id)
	if err != nil || l == nil || c.Scope != nil || l.Subscriber != c.Agent && !c.IsOperator {
		return nil
	}
	return l
}

// acknowledgeThrough acknowledges everything up to a number for a client that opens a stream again. If the server that sent the last
// deliveries has died and cannot store them, those come again.
func (s *Service) acknowledgeThrough(ctx context.Context, sub *record.Subscription, through int64) error {
	if through == 0 {
		return nil
	}
	beyond := message.ErrCursorBeyondLog.With("last_position", strconv.FormatInt(sub.LastNumber, 10))
	if through > max(sub.LastNumber, sub.ReservedThrough) {
		return beyond
	}
	err := s.acknowledge(ctx, sub, nil, through)
	switch fault.From(err).Reason {
	case "DELIVERY_NOT_STORED":
		return s.acknowledge(ctx, sub, nil, min(through, sub.OfferedThrough))
	case "NOT_DELIVERED":
		if through > sub.LastNumber {
			return beyond
		}
	}
	return err
}

// unsettledError says that the active stream may have sent a delivery that is not stored yet. It never leaves the room.
type unsettledError struct {
	no, number int64
	consumer   string
}

func (*unsettledError) Error() string { return "the delivery is not stored yet" }

// settledOf checks that deliveries were made and are stored, and returns up to where a cumulative acknowledgement reaches. That
// is no further than the deliveries that are stored: numbers above belong to a stream that was replaced, and what it sent under
// them comes again.
func settledOf(s *record.Subscription, numbers []int64, through int64, now time.Time) (reaches int64, err error) {
	runs := s.LeasedByOther("", now)
	lost := func(number int64) bool { return s.WasAbandoned(number) || s.Unsettled(number) && !runs }
	if first := slices.IndexFunc(numbers, lost); first >= 0 {
		run := numbers[first:]
		if end := slices.IndexFunc(run, func(number int64) bool { return !lost(number) }); end >= 0 {
			run = run[:end]
		}
		return 0, comesAgain(run[0], record.Last(run))
	}
	highest := record.Last(numbers)
	if !lost(through) {
		highest = max(highest, through)
	}
	switch {
	case highest <= s.OfferedThrough:
		return min(through, s.OfferedThrough), nil
	case s.Unsettled(highest):
		return 0, &unsettledError{s.No, highest, s.Consumer}
	}
	return 0, notDelivered(highest)
}

// awaitSettled waits until the stream of a subscription has stored a delivery or was replaced.
func (s *Service) awaitSettled(ctx context.Context, ahead *unsettledError) error {
	if l := s.settler.Of(ahead.no); l != nil && l.Consumer == ahead.consumer && l.NeverGave(ahead.number) {
		return notDelivered(ahead.number)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, settledWithin, notStored(ahead.number))
	defer cancel()
	for pause := firstSettledPause; ; pause = min(2*pause, longestSettledPause) {
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
		var now *record.Subscription
		err := s.db.ReadStatement(ctx, func(tx *database.Tx) (err error) {
			load, loaded := record.PrepareLoad(ahead.no)
			if err := tx.Pipeline(load); err != nil {
				return err
			}
			now, err = loaded()
			return err
		})
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		case now.Consumer != ahead.consumer || !now.Unsettled(ahead.number):
			return nil
		}
	}
}
