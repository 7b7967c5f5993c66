package subscriptions

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strconv"
	"time"

	"openintent/messaging/message"
	"openintent/messaging/reading"

	"github.com/oklog/ulid/v2"

	"openintent/caller"
	"openintent/database"
	openintentv1 "openintent/gen/openintent/v1"
)

const (
	// freshFor is how long what was read may wait for a slow client; what waited longer is read again. What expires meanwhile
	// is not handed on.
	freshFor = time.Second
	// idleTurns is how many times longer than others a stream waits at most until it looks without a wake-up: the lookout looks
	// for it.
	idleTurns = 60
)

// followAgent streams what reaches an agent: its own log after a number, or from now on. Whichever of the agent's streams
// looks first, on whatever replica, numbers what is new; each is a cursor over the numbers.
func (s *Service) followAgent(
	ctx context.Context, by caller.Caller, agentID string, after *int64, filter reading.Filter,
	admitted func(position int64) error, send func(*openintentv1.SubscribeResponse) error,
) error {
	if err := mayFollow(by, agentID); err != nil {
		return err
	}
	f := &follower{
		filter: filter, send: func(response *openintentv1.SubscribeResponse) error { return sending(send(response)) },
	}
	err := apart(func() error {
		own, err := s.ownLog(ctx, agentID)
		if err != nil {
			return err
		}
		f.receiver = s.newReceiver(own)
		f.watcher = s.lookout.enter(f.receiver)
		return f.begin(ctx, after)
	})
	if f.receiver != nil {
		defer f.close()
		defer s.lookout.leave(f.watcher)
	}
	if err != nil {
		return err
	}
	if err := admitted(f.number); err != nil {
		return err
	}
	if f.caughtUp = after == nil; f.caughtUp {
		if err := f.sayCaughtUp(); err != nil {
			return err
		}
	}
	return f.run(ctx)
}

func mayFollow(by caller.Caller, agentID string) error {
	if agentID != caller.Operator {
		if err := caller.CheckName("agent_id", agentID); err != nil {
			return err
		}
	}
	return by.CheckOwns(agentID)
}

// ownLog gives an agent's own log, and makes it at first use.
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

// follower is one stream of an agent's own log.
type follower struct {
	*receiver
	watcher *watcher
	filter  reading.Filter
	send    func(*openintentv1.SubscribeResponse) error
	// number is the cursor.
	number   int64
	caughtUp bool
	gains    gains
	// numbered are entries that this stream has just numbered itself and need not read again.
	numbered map[int64]reading.Entry
}

// apart does something deep on a goroutine of its own and waits for it: the stack that it needs goes with it, instead of
// staying with each of very many streams that then wait for long.
func apart(do func() error) error {
	done := make(chan error, 1)
	go func() {
		defer func() {
			if cause := recover(); cause != nil { // nobody above would contain it here
				done <- fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
			}
		}()
		done <- do()
	}()
	return <-done
}

// begin finds the cursor's place. From now on means after everything that is stored by now: it is numbered first, for the
// agent's other streams may not have seen it.
func (f *follower) begin(ctx context.Context, after *int64) error {
	seen, err := f.look(ctx)
	if err != nil {
		return err
	}
	if after != nil {
		if *after > seen.sub.lastNumber {
			return beyondLog(seen)
		}
		f.number = *after
		return nil
	}
	for i := range seen.news {
		for done := false; !done; {
			if _, done, _, err = f.gatherer.step(ctx, seen.sub, &seen.news[i], gatherPage); err != nil {
				return err
			}
		}
	}
	return f.service.db.ReadStatement(ctx, func(tx *database.Tx) error {
		own, err := findNamed(tx, f.sub.subscriber, ownName)
		if err == nil {
			f.number = own.lastNumber
		}
		return err
	})
}

// run delivers until the context ends or the stream breaks.
func (f *follower) run(ctx context.Context) error {
	for {
		err := apart(func() error { return f.turn(ctx) })
		most := idleTurns * f.service.lookAgain
		wait := most/2 + rand.N(most/2) // so that not all of very many look at once
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case passes(err):
			f.service.logger.Debug("an agent's log could not be read; it is looked at again", "error", err)
			wait = f.service.lookAgain
		case err != nil:
			return err
		}
		f.service.lookout.reached(f.watcher, f.number)
		if _, err := f.wait(ctx, wait); err != nil {
			return err
		}
	}
}

// look looks, and lets the lookout know what it saw. A log that lacks the cursor's place, or is not there any more, has lost what
// the stream has handed on.
func (f *follower) look(ctx context.Context) (*sight, error) {
	seen, err := f.receiver.look(ctx)
	switch {
	case errors.Is(err, errNotFound):
		return nil, message.ErrCursorBeyondLog
	case err != nil:
		return nil, err
	case f.number > seen.sub.lastNumber:
		return nil, beyondLog(seen)
	}
	f.service.lookout.note(f.watcher, seen)
	return seen, nil
}

func beyondLog(seen *sight) error {
	return message.ErrCursorBeyondLog.With("last_position", strconv.FormatInt(seen.sub.lastNumber, 10))
}

// turn numbers what is new, page by page, and delivers as it goes. After the first whole turn the stream has caught up with
// everything that was stored before it was accepted.
func (f *follower) turn(ctx context.Context) error {
	seen, err := f.look(ctx)
	if err != nil {
		return err
	}
	if err := f.backfill(ctx, seen); err != nil {
		return err
	}
	for i := range seen.news {
		for done := false; !done; {
			var found []numbered
			if found, done, _, err = f.gatherer.step(ctx, seen.sub, &seen.news[i], gatherPage); err != nil {
				return err
			}
			f.remember(found)
			if err := f.deliver(ctx); err != nil {
				return err
			}
		}
	}
	if err := f.deliver(ctx); err != nil {
		return err
	}
	if f.caughtUp {
		return nil
	}
	f.caughtUp = true
	return f.sayCaughtUp()
}

func (f *follower) sayCaughtUp() error {
	return f.send(&openintentv1.SubscribeResponse{Position: f.number, CaughtUp: true})
}

// remember keeps what was just numbered for its delivery, unless the stream's own filter has to look at it.
func (f *follower) remember(found []numbered) {
	clear(f.numbered)
	if len(f.filter.EventTypes) > 0 || f.filter.MessageType != "" || f.filter.CorrelationID != "" {
		return
	}
	if f.numbered == nil {
		f.numbered = make(map[int64]reading.Entry)
	}
	for _, n := range found {
		f.numbered[n.number] = n.entry
	}
}

// deliver delivers everything after the cursor.
func (f *follower) deliver(ctx context.Context) error {
	for {
		var rows []delivery
		err := f.service.db.ReadStatement(ctx, func(tx *database.Tx) (err error) {
			rows, err = deliveriesAfter(tx, f.sub.no, f.number, offerPage)
			return err
		})
		if err != nil {
			return err
		}
		whole := len(rows) < offerPage
		for len(rows) > 0 {
			if rows, err = f.deliverFresh(ctx, rows); err != nil {
				return err
			}
		}
		if whole {
			clear(f.numbered)
			return nil
		}
	}
}

// deliverFresh reads the contents of rows and delivers them for as long as they are fresh. It gives the rows that are left.
func (f *follower) deliverFresh(ctx context.Context, rows []delivery) (left []delivery, err error) {
	readAt := f.service.db.Now()
	found, err := f.read(ctx, rows, readAt)
	if err != nil {
		return nil, err
	}
	for i, d := range rows {
		if i > 0 && f.service.db.Now().Sub(readAt) > freshFor {
			return rows[i:], nil
		}
		if entry, there := found[d.number]; there {
			if err := f.hand(entry, d.number, false); err != nil {
				return nil, err
			}
		}
		f.number = d.number
	}
	return nil, nil
}

// read gives the contents of rows: those just numbered as they were then, the others as they are now.
func (f *follower) read(ctx context.Context, rows []delivery, now time.Time) (map[int64]reading.Entry, error) {
	var missing []delivery
	for _, d := range rows {
		if entry, known := f.numbered[d.number]; !known || now.Sub(entry.Now) > freshFor {
			missing = append(missing, d)
			delete(f.numbered, d.number)
		}
	}
	found, err := f.service.contents(ctx, f.sub, f.filter, missing, true)
	if err != nil {
		return nil, err
	}
	for _, d := range rows {
		if entry, known := f.numbered[d.number]; known {
			found[d.number] = entry
		}
	}
	return found, nil
}

// hand sends one entry at a position of the agent's log, unless it has expired since it was read.
func (f *follower) hand(entry reading.Entry, position int64, backfill bool) error {
	entry, shown := entry.At(f.service.db.Now(), f.sub.reader())
	if !shown {
		return nil
	}
	message, event, _, err := entry.ToWire()
	if err != nil {
		return err
	}
	err = f.send(&openintentv1.SubscribeResponse{
		Position: position, IntentId: entry.IntentID, ChannelName: entry.ChannelName, Message: message, Event: event,
		Backfill: backfill,
	})
	if err == nil {
		f.service.messaging.RecordOffered(f.sub.subscriber, entry)
	}
	return err
}
