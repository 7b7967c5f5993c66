package messaging

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"openintent/channels"
	"openintent/database"
	"openintent/fault"
)

const (
	// tailLength is how many of a channel's newest messages its followers share; who is further behind reads pages of its
	// own. A stalled follower therefore costs a cursor and no memory.
	tailLength = 1024
	// tailBytes bounds them in size.
	tailBytes = 2 * maxPageBytes
	// tailPage is how many messages one look of a tail reads.
	tailPage = 128
	// sharedFor is how old what the followers share may become. What was read longer ago is read again by who needs it,
	// because statuses change.
	sharedFor = time.Second
)

// tails are the tails of the channels that are being followed.
type tails struct {
	service *Service
	mutex   sync.Mutex
	byKey   map[channels.Key]*tail
	running sync.WaitGroup
}

// tail reads a channel once for all its followers: at each wake-up, and now and then without one, it looks at the
// channel's state, the followers' agent records and the new messages, and publishes that as a sight.
type tail struct {
	service  *Service
	key      channels.Key
	listener *listener
	cancel   context.CancelFunc

	mutex     sync.Mutex
	followers map[string]int // by agent
	begun     int64          // looks begun
	latest    *sight
}

// sight is what one look of a tail saw. It is never changed; superseded is closed when there is a newer one.
type sight struct {
	look
	// number counts the tail's looks: one that began later has a higher number.
	number int64
	// messages are those with after < ordinal <= through, without a gap; sharedSince is when the first of them were read.
	messages       []*Message
	bytes          int
	after, through int64
	sharedSince    time.Time
	// err is set when the channel can no longer be looked at.
	err        error
	superseded chan struct{}
}

func newTails(s *Service) *tails {
	return &tails{service: s, byKey: make(map[channels.Key]*tail)}
}

// join begins following a channel as an agent, and gives the first sight of a look that began afterwards: an earlier one
// may lack the agent's record, and what the caller knows already. Call leave when done.
func (t *tails) join(ctx context.Context, key channels.Key, agent string) (*tail, *sight, error) {
	joined, begun := t.enter(key, agent)
	joined.listener.signal()
	for seen := joined.current(); ; seen = joined.current() {
		if seen.number > begun {
			return joined, seen, nil
		}
		if err := joined.wait(ctx, seen); err != nil {
			t.leave(joined, agent)
			return nil, nil, err
		}
	}
}

// enter adds a follower to the channel's tail, and tells how many looks have begun before.
func (t *tails) enter(key channels.Key, agent string) (joined *tail, begun int64) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	joined = t.byKey[key]
	if joined == nil {
		joined = &tail{
			service: t.service, key: key, followers: make(map[string]int),
			listener: t.service.hub.listen(key, closingTopic(key), intentTopic(key.IntentNo)),
			latest:   &sight{superseded: make(chan struct{})},
		}
		t.byKey[key] = joined
		var ctx context.Context
		ctx, joined.cancel = context.WithCancel(context.Background())
		t.running.Go(func() { joined.run(ctx) })
	}
	joined.mutex.Lock()
	defer joined.mutex.Unlock()
	if joined.followers[agent]++; joined.followers[agent] == 1 {
		joined.listener.also(agentTopic(agent))
	}
	return joined, joined.begun
}

// leave ends an agent's following; the last one ends the tail.
func (t *tails) leave(joined *tail, agent string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	joined.mutex.Lock()
	defer joined.mutex.Unlock()
	if joined.followers[agent]--; joined.followers[agent] == 0 {
		delete(joined.followers, agent)
		joined.listener.forget(agentTopic(agent))
	}
	if len(joined.followers) == 0 {
		joined.cancel()
		joined.listener.close()
		delete(t.byKey, joined.key)
	}
}

// stop waits until no tail runs any more; their followers have gone before.
func (t *tails) stop() { t.running.Wait() }

func (t *tail) current() *sight {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.latest
}

// wait returns when there is a newer sight than the given one.
func (t *tail) wait(ctx context.Context, seen *sight) error {
	select {
	case <-seen.superseded:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (t *tail) run(ctx context.Context) {
	for ctx.Err() == nil {
		before := t.current()
		number, agentIDs := t.begin()
		next, err := t.look(ctx, before, agentIDs)
		var refusal *fault.Fault
		switch {
		case ctx.Err() != nil:
			return
		case errors.As(err, &refusal):
			next = &sight{look: before.look, after: before.through, through: before.through, err: refusal}
		case err != nil:
			t.service.logger.Warn("a followed channel could not be read; it is looked at again", "error", err)
			next = before
		}
		if next != before {
			next.number = number
			t.publish(next)
		}
		if err == nil && next.through < next.count.Messages {
			continue
		}
		t.pause(ctx, next)
	}
}

func (t *tail) publish(next *sight) {
	next.superseded = make(chan struct{})
	t.mutex.Lock()
	defer t.mutex.Unlock()
	close(t.latest.superseded)
	t.latest = next
}

// pause waits for a wake-up, or until it is time to look without one: after a while, or when a rule changes by time.
func (t *tail) pause(ctx context.Context, seen *sight) {
	wait := t.service.lookAgain
	if change := seen.nextChange(); !change.IsZero() {
		wait = min(wait, max(change.Sub(t.service.db.Now()), time.Millisecond))
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-t.listener.wake:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// nextChange is when access may change by time alone; zero when nothing is known to.
func (s *sight) nextChange() time.Time {
	if s.access == nil {
		return time.Time{}
	}
	return s.access.NextChange(s.now)
}

// look reads the channel anew, all but the messages seen already, in one round trip.
func (t *tail) look(ctx context.Context, before *sight, agentIDs []string) (next *sight, err error) {
	defer func() {
		if cause := recover(); cause != nil { // nobody above would contain it
			next, err = nil, fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
	}()
	err = t.service.db.Read(ctx, func(tx *database.Tx) error {
		rows, statement := t.newer(tx, before)
		l, err := t.service.look(tx, t.key, agentIDs, statement...)
		if err != nil {
			return err
		}
		next = &sight{look: l}
		if err := next.markAbandoned(tx, rows.messages); err != nil {
			return err
		}
		next.extend(before, rows.messages)
		return nil
	})
	return next, err
}

// newer gives the statement that reads what came since a sight; the first sight begins at the channel's end.
func (t *tail) newer(tx *database.Tx, before *sight) (rows *selection, statement []database.Statement) {
	if before.channel == nil {
		return new(selection), nil
	}
	rows, read := page{
		intentNo: t.key.IntentNo, channelNo: t.key.ChannelNo, channelID: before.channel.ID,
		after: max(before.through, before.count.Floor), through: math.MaxInt64, everyone: true, limit: tailPage,
	}.prepare(tx)
	return rows, []database.Statement{read}
}

// extend takes over the messages of the sight before and adds what came since. When rules changed or the channel closed,
// what became of open requests may have changed with them, so it begins anew; as it does when the messages are too old.
func (s *sight) extend(before *sight, rows []*Message) {
	rows = slices.DeleteFunc(rows, func(m *Message) bool { return m.Ordinal <= s.count.Floor })
	switch {
	case before.channel == nil:
		s.after, s.through = s.count.Messages, s.count.Messages
		return
	case before.head.Epoch != s.head.Epoch || s.closed() || s.now.Sub(before.sharedSince) > sharedFor:
		s.after, s.through = before.through, before.through
	default:
		s.messages, s.bytes, s.after, s.through = before.messages, before.bytes, before.after, before.through
		s.sharedSince = before.sharedSince
	}
	if len(rows) == 0 {
		if s.through < s.count.Messages { // removed, or below the floor
			s.messages, s.bytes, s.after, s.through = nil, 0, s.count.Messages, s.count.Messages
		}
		return
	}
	if rows[0].Ordinal != s.through+1 || len(s.messages) == 0 {
		s.messages, s.bytes, s.after, s.sharedSince = nil, 0, rows[0].Ordinal-1, s.now
	}
	for _, m := range rows {
		s.bytes += m.size()
	}
	s.messages, s.through = append(s.messages, rows...), rows[len(rows)-1].Ordinal
	for len(s.messages) > tailLength || s.bytes > tailBytes {
		s.bytes -= s.messages[0].size()
		s.messages, s.after = s.messages[1:], s.after+1
	}
}

// begin counts a look and names the agents whose records it is to read.
func (t *tail) begin() (number int64, agentIDs []string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.begun++
	names := make([]string, 0, len(t.followers))
	for agent := range t.followers {
		names = append(names, agent)
	}
	slices.Sort(names)
	return t.begun, names
}
