package subscriptions

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/oklog/ulid/v2"

	"openintent/caller"
	"openintent/database"
	"openintent/fault"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging/message"
	"openintent/messaging/reading"
)

const (
	// freshFor is how long content that was read may wait for a slow client. Content that waited longer is read again. Content
	// that expires meanwhile is not sent.
	freshFor = time.Second
	// idleFactor determines the longest wait for a wake-up: a stream of an own log waits up to this many times longer than
	// others, because the monitor also wakes it.
	idleFactor = 60
)

// followAgent streams what reaches an agent: the agent's own log after a number, or from now on. The first stream that looks,
// on any replica, numbers what is new. Each stream is a cursor over the numbers.
func (s *Service) followAgent(
	ctx context.Context, by caller.Caller, agentID string, after *int64, filter reading.Filter,
	admitted func(position int64) error, send func(*openintentv1.SubscribeResponse) error,
) error {
	if err := mayFollow(by, agentID); err != nil {
		return err
	}
	st := &ownLogStream{
		filter: filter, scope: by.Scope, send: func(response *openintentv1.SubscribeResponse) error { return asSendError(send(response)) },
	}
	err := onOwnGoroutine(func() error {
		own, err := s.ownLog(ctx, agentID)
		if err != nil {
			return err
		}
		if filter.Annotations {
			if err := s.numberAnnotations(ctx, own); err != nil {
				return err
			}
		}
		st.receiver = s.receiverWith(own, s.messaging.WatchIntentsNoting(agentID))
		st.observer = s.monitor.add(ownLogObserver(st.receiver))
		return st.begin(ctx, after)
	})
	if st.receiver != nil {
		defer st.close()
		defer s.monitor.remove(st.observer)
	}
	if err != nil {
		return err
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

// ownLogObserver returns the observer through which the monitor wakes a stream.
func ownLogObserver(r *receiver) *observer {
	return &observer{watch: r.watch, no: r.sub.no, agentID: r.sub.subscriber, wide: true, ownLog: true}
}

func mayFollow(by caller.Caller, agentID string) error {
	if agentID != caller.Operator {
		if err := caller.CheckName("agent_id", agentID); err != nil {
			return err
		}
	}
	return by.CheckOwns(agentID)
}

// ownLog returns an agent's own log. It creates the log when it is first used.
func (s *Service) ownLog(ctx context.Context, agentID string) (*subscription, error) {
	read := func() (own *subscription, err error) {
		err = s.db.ReadStatement(ctx, func(tx *database.Tx) error {
			own, err = findNamed(tx, agentID, ownName)
			return err
		})
		return own, err
	}
	own, err := read()
	if !errors.Is(err, errNotFound) {
		return own, err
	}
	draft := &subscription{id: idPrefix + ulid.Make().String(), subscriber: agentID, name: ownName}
	if err := s.store(ctx, draft); err != nil && !errors.Is(err, errNameTaken) {
		return nil, err
	}
	return read()
}

// ownLogStream is one stream of an agent's own log.
type ownLogStream struct {
	*receiver
	observer *observer
	filter   reading.Filter
	// scope is the caller's. The log is the whole agent's, so the stream leaves out what lies elsewhere.
	scope *caller.Scope
	send  func(*openintentv1.SubscribeResponse) error
	// number is the cursor.
	number   int64
	caughtUp bool
	visible  visibility
	// numbered contains entries that this stream has just numbered, so that it need not read them again.
	numbered map[int64]reading.Entry
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

// begin finds the cursor's place. "From now on" means after everything that is stored by now. begin numbers that first, because
// the agent's other streams may not have seen it.
func (st *ownLogStream) begin(ctx context.Context, after *int64) error {
	seen, err := st.refresh(ctx)
	if err != nil {
		return err
	}
	if after != nil {
		if *after > seen.sub.lastNumber {
			return beyondLog(seen)
		}
		st.number = *after
		return nil
	}
	for i := range seen.backlogs {
		for done := false; !done; {
			if _, done, _, err = st.gatherer.step(ctx, seen.sub, &seen.backlogs[i], gatherPage); err != nil {
				return err
			}
		}
	}
	return st.service.db.ReadStatement(ctx, func(tx *database.Tx) error {
		own, err := findNamed(tx, st.sub.subscriber, ownName)
		if err == nil {
			st.number = own.lastNumber
		}
		return err
	})
}

// run delivers until the context ends or the stream breaks.
func (st *ownLogStream) run(ctx context.Context) error {
	for {
		err := onOwnGoroutine(func() error { return st.catchUp(ctx) })
		most := idleFactor * st.service.lookAgain
		wait := most/2 + rand.N(most/2) // so that very many streams do not look together
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case isTransient(err):
			st.service.logger.Debug("could not read an agent's log; will try again", "error", err)
			wait = st.service.lookAgain
		case err != nil:
			return err
		}
		st.whole = st.whole || err != nil
		st.service.monitor.advance(st.observer, st.number)
		if _, err := st.wait(ctx, wait); err != nil {
			return err
		}
	}
}

// refresh reads the log's progress and reports it to the monitor. If the log ends before the cursor's place, or no longer
// exists, it has lost deliveries that the stream has already sent.
func (st *ownLogStream) refresh(ctx context.Context) (*progress, error) {
	st.whole = st.whole || !st.visible.begun
	seen, err := st.receiver.refresh(ctx)
	switch {
	case errors.Is(err, errNotFound):
		return nil, message.ErrCursorBeyondLog
	case err != nil:
		return nil, err
	case st.number > seen.sub.lastNumber:
		return nil, beyondLog(seen)
	}
	st.service.monitor.update(st.observer, seen)
	return seen, nil
}

func beyondLog(seen *progress) error {
	return message.ErrCursorBeyondLog.With("last_position", strconv.FormatInt(seen.sub.lastNumber, 10))
}

// catchUp numbers what is new, page by page, and delivers each page. After the first call, the stream has caught up with
// everything that was stored before it was accepted.
func (st *ownLogStream) catchUp(ctx context.Context) error {
	seen, err := st.refresh(ctx)
	if err != nil {
		return err
	}
	if err := st.backfill(ctx, seen); err != nil {
		return err
	}
	for i := range seen.backlogs {
		for done := false; !done; {
			var found []numbered
			if found, done, _, err = st.gatherer.step(ctx, seen.sub, &seen.backlogs[i], gatherPage); err != nil {
				return err
			}
			st.remember(found)
			if err := st.deliver(ctx); err != nil {
				return err
			}
		}
	}
	if err := st.deliver(ctx); err != nil {
		return err
	}
	if st.caughtUp {
		return nil
	}
	st.caughtUp = true
	return st.sayCaughtUp()
}

func (st *ownLogStream) sayCaughtUp() error {
	return st.send(&openintentv1.SubscribeResponse{Position: st.number, CaughtUp: true})
}

// remember keeps newly numbered entries until they are delivered. It keeps none if the stream has a filter or a scope, because
// reading applies these, and none if it includes attention, because reading works that out.
func (st *ownLogStream) remember(found []numbered) {
	clear(st.numbered)
	if st.filter.Attention || len(st.filter.EventTypes) > 0 || st.filter.MessageType != "" || st.filter.CorrelationID != "" || st.scope != nil {
		return
	}
	if st.numbered == nil {
		st.numbered = make(map[int64]reading.Entry)
	}
	for _, n := range found {
		if st.filter.Keeps(reading.Item{Message: n.entry.Message, Event: n.entry.Event, Annotation: n.entry.Annotation}) {
			st.numbered[n.number] = n.entry
		}
	}
}

// deliver delivers everything after the cursor.
func (st *ownLogStream) deliver(ctx context.Context) error {
	for {
		var rows []delivery
		err := st.service.db.ReadFor(ctx, caller.ReaderOf(ctx, st.sub.subscriber), func(tx *database.Tx) (err error) {
			rows, err = deliveriesAfter(tx, st.sub.no, st.number, offerPage)
			return err
		})
		if err != nil {
			return err
		}
		whole := len(rows) < offerPage
		for len(rows) > 0 {
			if rows, err = st.deliverFresh(ctx, rows); err != nil {
				return err
			}
		}
		if whole {
			clear(st.numbered)
			return nil
		}
	}
}

// deliverFresh reads the contents of rows and delivers them as long as they are fresh. It returns the remaining rows.
func (st *ownLogStream) deliverFresh(ctx context.Context, rows []delivery) (left []delivery, err error) {
	found, err := st.read(ctx, rows, st.service.db.Now())
	if err != nil {
		return nil, err
	}
	for i, d := range rows {
		if entry, there := found[d.number]; there {
			if i > 0 && st.service.db.Now().Sub(entry.ReadAt) > freshFor {
				return rows[i:], nil
			}
			if err := st.hand(ctx, entry, d.number, false); err != nil {
				return nil, err
			}
		}
		st.number = d.number
	}
	return nil, nil
}

// read returns the contents of rows. Newly numbered entries are returned as they were then, and the others as they are now.
func (st *ownLogStream) read(ctx context.Context, rows []delivery, now time.Time) (map[int64]reading.Entry, error) {
	var missing []delivery
	for _, d := range rows {
		if entry, known := st.numbered[d.number]; !known || now.Sub(entry.ReadAt) > freshFor {
			missing = append(missing, d)
			delete(st.numbered, d.number)
		}
	}
	found, err := st.service.contents(ctx, st.sub.within(st.scope), st.filter, missing, true)
	if err != nil {
		return nil, err
	}
	for _, d := range rows {
		if entry, known := st.numbered[d.number]; known {
			found[d.number] = entry
		}
	}
	return found, nil
}

// hand sends one entry at a position of the agent's log, unless it has expired since it was read.
func (st *ownLogStream) hand(ctx context.Context, entry reading.Entry, position int64, backfill bool) error {
	entry, shown := entry.At(st.service.db.Now(), st.sub.reader())
	if !shown {
		return nil
	}
	message, event, _, err := entry.ToWire()
	if err != nil {
		return err
	}
	handed := st.service.handing.Begin(ctx, reading.Consumer{Agent: st.sub.subscriber}, entry)
	err = st.send(&openintentv1.SubscribeResponse{
		Position: position, IntentId: entry.IntentID, ChannelName: entry.ChannelName, Message: message, Event: event,
		Annotation: entry.AnnotationToWire(), Attention: entry.AttentionToWire(), Backfill: backfill,
	})
	handed(err)
	if err == nil {
		st.service.messaging.RecordOffered(st.sub.subscriber, entry)
	}
	return err
}
