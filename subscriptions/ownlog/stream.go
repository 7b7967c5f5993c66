package ownlog

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/messaging/message"
	"openintent/messaging/reading"
	"openintent/subscriptions/delivering"
	"openintent/subscriptions/record"
)

// Follow streams what reaches an agent: the agent's own log after a number, or from now on. Each stream is a cursor over the
// numbers. This replica numbers what is new once for all streams of the agent (own_log_numbers.go).
func (o *Logs) Follow(
	ctx context.Context, by caller.Caller, agentID string, after *int64, filter reading.Filter,
	admitted func(position int64) error, send func(*openintentv1.SubscribeResponse) error,
) error {
	if err := mayFollow(by, agentID); err != nil {
		return err
	}
	st := &ownLogStream{
		logs: o, by: by, filter: filter,
		send: func(response *openintentv1.SubscribeResponse) error { return delivering.AsSendError(send(response)) },
	}
	if err := onOwnGoroutine(func() error { return st.begin(ctx, agentID, after) }); err != nil {
		return err
	}
	defer o.leave(st)
	if after == nil { // from now on means after everything that is stored by now, which is numbered first
		if err := st.awaitLook(ctx); err != nil {
			return err
		}
	}
	if err := admitted(st.number); err != nil {
		return err
	}
	if st.caughtUp = after == nil; st.caughtUp {
		if err := st.sayCaughtUp(); err != nil {
			return err
		}
	}
	return st.run(ctx)
}

func mayFollow(by caller.Caller, agentID string) error {
	if agentID != caller.Operator {
		if err := caller.CheckName("agent_id", agentID); err != nil {
			return err
		}
	}
	return by.CheckOwns(agentID)
}

// log returns an agent's own log. It creates the log when it is first used.
func (o *Logs) log(ctx context.Context, agentID string) (*record.Subscription, error) {
	read := func() (own *record.Subscription, err error) {
		err = o.db.ReadStatement(ctx, func(tx *database.Tx) error {
			own, err = record.FindNamed(tx, agentID, record.OwnName)
			return err
		})
		return own, err
	}
	own, err := read()
	if !errors.Is(err, record.ErrNotFound) {
		return own, err
	}
	draft := &record.Subscription{ID: record.IDPrefix + ulid.Make().String(), Subscriber: agentID, Name: record.OwnName}
	if err := o.create(ctx, draft); err != nil && !errors.Is(err, record.ErrNameTaken) {
		return nil, err
	}
	return read()
}

// ownLogStream is one stream of an agent's own log.
type ownLogStream struct {
	logs *Logs
	own  *record.Subscription
	log  *ownLogNumbers
	// by is the caller. The log is the whole agent's, so the stream leaves out what lies outside of the caller's scope.
	by     caller.Caller
	filter reading.Filter
	send   func(*openintentv1.SubscribeResponse) error
	// joined is the look at the log by which the stream has caught up with everything that was stored before it began.
	joined int
	// number is the cursor. missing are open requests that the agent has gained and that the stream has not delivered. lost is true when
	// the database has lost what the stream has sent. The mutex of the log guards these.
	number   int64
	missing  []openRequests
	lost     bool
	caughtUp bool
}

// onOwnGoroutine calls a function on a new goroutine and waits for it. The function needs a large stack. Without the new
// goroutine, each of very many streams would keep such a stack while it waits.
func onOwnGoroutine(do func() error) error {
	done := make(chan error, 1)
	go func() {
		var err error
		defer func() { done <- err }()
		defer fault.Recover(&err) // on this goroutine, no caller would recover it
		err = do()
	}()
	return <-done
}

// begin finds the agent's log and joins it, at its end or after a number.
func (st *ownLogStream) begin(ctx context.Context, agentID string, after *int64) (err error) {
	if st.own, err = st.logs.log(ctx, agentID); err != nil {
		return err
	}
	if st.filter.Annotations {
		if err := st.logs.numberAnnotations(ctx, st.own); err != nil {
			return err
		}
	}
	switch {
	case !st.own.Active(st.logs.db.Now()):
		return record.ErrEnded
	case after == nil:
	case *after > st.own.LastNumber:
		return beyondLog(st.own.LastNumber)
	default:
		st.number = *after
	}
	st.logs.join(st)
	return nil
}

// awaitLook waits until the log has numbered everything that was stored when the stream joined, and moves the cursor there.
func (st *ownLogStream) awaitLook(ctx context.Context) error {
	for {
		now, err := st.log.state(st)
		if err != nil {
			return err
		}
		if now.looked >= st.joined {
			st.log.moveTo(st, now.number)
			return nil
		}
		if err := now.wait(ctx); err != nil {
			return err
		}
	}
}

// run delivers until the context ends or the stream breaks.
func (st *ownLogStream) run(ctx context.Context) error {
	for {
		now, err := st.log.state(st)
		if err != nil {
			return err
		}
		if len(now.missing) > 0 || st.number < now.number {
			err = onOwnGoroutine(func() error { return st.deliver(ctx, now) })
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case delivering.IsTransient(err):
			st.logs.logger.Debug("could not read an agent's log; will try again", "error", err)
			if err := st.pause(ctx); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		}
		if !st.caughtUp && now.looked >= st.joined {
			st.caughtUp = true
			if err := st.sayCaughtUp(); err != nil {
				return err
			}
		}
		if err := now.wait(ctx); err != nil {
			return err
		}
	}
}

// pause waits before the stream tries again what has failed.
func (st *ownLogStream) pause(ctx context.Context) error {
	timer := time.NewTimer(st.logs.lookAgain)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func beyondLog(last int64) error {
	return message.ErrCursorBeyondLog.With("last_position", strconv.FormatInt(last, 10))
}

func (st *ownLogStream) sayCaughtUp() error {
	return st.send(&openintentv1.SubscribeResponse{Position: st.number, CaughtUp: true})
}

// deliver delivers the open requests that the agent has gained, and then everything after the cursor.
func (st *ownLogStream) deliver(ctx context.Context, now ownLogState) error {
	if err := st.handMissing(ctx, now.missing); err != nil {
		return err
	}
	for st.number < now.number {
		before := st.number
		if err := st.handRecent(ctx, now.recent); err != nil {
			return err
		}
		if st.number > before {
			continue
		}
		if err := st.handStored(ctx, now.number); err != nil {
			return err
		}
	}
	return nil
}

// handRecent delivers what follows on the cursor in what the log has numbered lately, as long as it is fresh. It reads nothing. It does
// nothing if the stream has a filter or a scope, because reading applies these, or includes attention, because reading works that out.
func (st *ownLogStream) handRecent(ctx context.Context, recent recentNumbers) error {
	f := st.filter
	if f.Attention || len(f.EventTypes) > 0 || f.MessageType != "" || f.CorrelationID != "" || st.by.Scope != nil {
		return nil
	}
	for _, page := range recent {
		for _, one := range page.rows {
			switch {
			case one.Number <= st.number:
				continue
			case page.look < st.joined: // the agent may have lost sight of it before the stream began
				return nil
			case one.Number != st.number+1, st.logs.db.Now().Sub(one.Entry.ReadAt) > delivering.FreshFor:
				return nil
			}
			if f.Keeps(itemOf(one.Entry)) {
				if err := st.hand(ctx, one.Entry, one.Number, false); err != nil {
					return err
				}
			}
			st.log.moveTo(st, one.Number)
		}
	}
	return nil
}

// handStored reads a page of what lies after the cursor, up to a number, and delivers it.
func (st *ownLogStream) handStored(ctx context.Context, through int64) error {
	var rows []record.Delivery
	err := st.logs.db.ReadFor(ctx, st.by.Reader(), func(tx *database.Tx) (err error) {
		rows, err = record.DeliveriesAfter(tx, st.own.No, st.number, through, delivering.OfferPage)
		return err
	})
	if err != nil {
		return err
	}
	all := len(rows) < delivering.OfferPage
	for len(rows) > 0 {
		if rows, err = st.deliverFresh(ctx, rows); err != nil {
			return err
		}
	}
	if all {
		st.log.moveTo(st, through) // what lies beyond them is no longer kept
	}
	return nil
}

// deliverFresh reads the contents of rows and delivers them as long as they are fresh. It returns the remaining rows.
func (st *ownLogStream) deliverFresh(ctx context.Context, rows []record.Delivery) (left []record.Delivery, err error) {
	found, err := st.logs.supplier.Contents(ctx, st.own.Within(st.by.Scope), st.filter, rows, true)
	if err != nil {
		return nil, err
	}
	for i, d := range rows {
		if entry, there := found[d.Number]; there {
			if i > 0 && st.logs.db.Now().Sub(entry.ReadAt) > delivering.FreshFor {
				return rows[i:], nil
			}
			if err := st.hand(ctx, entry, d.Number, false); err != nil {
				return nil, err
			}
		}
		st.log.moveTo(st, d.Number)
	}
	return nil, nil
}

// hand sends one entry at a position of the agent's log, unless it has expired since it was read.
func (st *ownLogStream) hand(ctx context.Context, entry reading.Entry, position int64, backfill bool) error {
	entry, shown := entry.At(st.logs.db.Now(), st.own.Reader())
	if !shown {
		return nil
	}
	message, event, _, err := entry.ToWire()
	if err != nil {
		return err
	}
	handed := st.logs.deliveryTrace.Begin(ctx, reading.Consumer{Agent: st.own.Subscriber}, entry)
	err = st.send(&openintentv1.SubscribeResponse{
		Position: position, IntentId: entry.IntentID, ChannelName: entry.ChannelName, Message: message, Event: event,
		Annotation: entry.AnnotationToWire(), Attention: entry.AttentionToWire(), Backfill: backfill,
	})
	handed(err)
	if err == nil {
		st.logs.messaging.RecordOffered(st.own.Subscriber, entry)
	}
	return err
}

// numberAnnotations makes an agent's own log number annotations, from the first stream that includes them on. The log's numbers are
// shared: streams that do not include annotations pass over theirs. While no stream has ever asked, the log numbers none, and other
// agents' annotations cost the agent nothing.
func (o *Logs) numberAnnotations(ctx context.Context, own *record.Subscription) error {
	if own.Filter.Annotations {
		return nil
	}
	own.Including([]string{reading.IncludeAnnotations})
	err := o.changes.Change(ctx, own.No, record.Wanted{}, func(c *record.Change) error {
		c.Also(database.Statement{
			SQL: "UPDATE subscriptions SET include = ? WHERE subscription_no = ?", Args: []any{strings.Join(own.Include, ","), own.No},
		})
		return nil
	})
	if err == nil {
		o.messaging.WakeSubscription(own.No)
	}
	return err
}
