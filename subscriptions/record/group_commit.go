package record

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"openintent/internal/database"
)

// groupSize bounds how many subscriptions one transaction changes.
const groupSize = 250

// These errors tell a member of a group what it has to do itself. They never leave this file.
var (
	errLeads   = errors.New("commits the next group")
	errLeftOut = errors.New("needs a transaction of its own")
)

// GroupCommit changes subscriptions. While one transaction is under way, further changes wait, and the next transaction makes all of
// them. So under load one commit stores many changes, and without load nobody waits.
//
//	change ──┐
//	change ──┼── wait ──> lock, read ──> decide each ──> store, commit
//	change ──┘
//
// No goroutine of its own does this: the first caller commits, and then makes one of those that came meanwhile the next leader. No group
// waits for a lock. A subscription that somebody else has locked is left out, and then gets a transaction of its own.
type GroupCommit struct {
	db *database.DB

	mutex   sync.Mutex
	waiting []*member
	// led is true while a group is committed, or while a member knows that it is its turn.
	led bool
}

// member is one change of a group.
type member struct {
	ctx    context.Context
	no     int64
	want   Wanted
	decide Decision
	// refusal is why the decision failed, or errLeftOut.
	refusal error
	// done receives what became of the change, or errLeads.
	done chan error
}

// NewGroupCommit changes the subscriptions of a database.
func NewGroupCommit(db *database.DB) *GroupCommit { return &GroupCommit{db: db} }

// Change locks a subscription, decides, and stores what was decided. For a deleted subscription it returns ErrNotFound. If the context
// ends while the change is being made, change returns when that is done.
func (g *GroupCommit) Change(ctx context.Context, no int64, want Wanted, decide Decision) error {
	m := &member{ctx: ctx, no: no, want: want, decide: decide, done: make(chan error, 1)}
	err := g.join(m)
	if errors.Is(err, errLeads) {
		err = g.lead(m)
	}
	if errors.Is(err, errLeftOut) {
		err = g.db.Write(ctx, func(tx *database.Tx) error { return ChangeIn(tx, no, want, decide) })
	}
	return err
}

// join waits until somebody has committed the change, or until it is this member's turn to commit.
func (g *GroupCommit) join(m *member) error {
	g.mutex.Lock()
	if !g.led {
		g.led = true
		g.mutex.Unlock()
		return errLeads
	}
	g.waiting = append(g.waiting, m)
	g.mutex.Unlock()
	select {
	case err := <-m.done:
		return err
	case <-m.ctx.Done():
		if g.quit(m) {
			return context.Cause(m.ctx)
		}
		return <-m.done // its decision may be running
	}
}

// quit takes a member out of those that wait. It returns false if the member waits no more.
func (g *GroupCommit) quit(m *member) bool {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	at := slices.Index(g.waiting, m)
	if at >= 0 {
		g.waiting = slices.Delete(g.waiting, at, at+1)
	}
	return at >= 0
}

// lead commits a member's change and those that wait. Then it passes the turn to the first one that came meanwhile.
func (g *GroupCommit) lead(m *member) error {
	defer g.pass()
	g.commit(g.take(m))
	return <-m.done
}

// HoldUp makes changes wait as if a group was being committed, until release is called.
func (g *GroupCommit) HoldUp() (release func()) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.led = true
	return g.pass
}

// Waits returns how many changes wait for the next group.
func (g *GroupCommit) Waits() int {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return len(g.waiting)
}

func (g *GroupCommit) pass() {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.led = len(g.waiting) > 0; g.led {
		g.waiting[0].done <- errLeads
		g.waiting = slices.Delete(g.waiting, 0, 1)
	}
}

// take makes a group of a member and those that wait, one for each subscription.
func (g *GroupCommit) take(first *member) []*member {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	group, taken := []*member{first}, map[int64]struct{}{first.no: {}}
	g.waiting = slices.DeleteFunc(g.waiting, func(m *member) bool {
		if _, twice := taken[m.no]; twice || len(group) == groupSize {
			return false
		}
		taken[m.no] = struct{}{}
		group = append(group, m)
		return true
	})
	slices.SortFunc(group, func(a, b *member) int { return int(a.no - b.no) })
	return group
}

// commit makes the changes of a group in one transaction. If the transaction fails because of one of them, all are left out. After a
// panic nobody knows whether it was committed, so it fails for all of them.
func (g *GroupCommit) commit(group []*member) {
	ctx, cancel := sharedContext(group)
	defer cancel()
	outcome, err := database.Together(len(group), func() error {
		return g.db.Write(ctx, func(tx *database.Tx) error { return changeGroup(tx, group) })
	})
	if outcome == database.Spoiled || outcome == database.Contended && len(group) > 1 {
		err = errLeftOut
	}
	for _, m := range group {
		if err == nil {
			m.done <- m.refusal
		} else {
			m.done <- err
		}
	}
}

// sharedContext returns a context that ends when those of all members have ended.
func sharedContext(group []*member) (context.Context, context.CancelFunc) {
	if len(group) == 1 {
		return group[0].ctx, func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(group[0].ctx))
	var left atomic.Int64
	left.Store(int64(len(group)))
	stops := make([]func() bool, len(group))
	for i, m := range group {
		stops[i] = context.AfterFunc(m.ctx, func() {
			if left.Add(-1) == 0 {
				cancel()
			}
		})
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel()
	}
}

// changeGroup locks the subscriptions of a group, lets each member decide, and stores everything that was decided.
func changeGroup(tx *database.Tx, group []*member) error {
	nos, wants := make([]int64, len(group)), make([]Wanted, len(group))
	for i, m := range group {
		nos[i], wants[i] = m.no, m.want
	}
	found, err := lockChanges(tx, tx.ForUpdateSkipLocked(), nos, wants)
	if err != nil {
		return err
	}
	decided := make([]*Change, 0, len(group))
	for _, m := range group {
		c := found[m.no]
		if m.refusal = errLeftOut; c == nil {
			continue
		}
		if m.refusal = m.decideIn(c); m.refusal == nil {
			decided = append(decided, c)
		}
	}
	storeChanges(tx, decided)
	return nil
}

// decideIn runs the decision. A decision that panics is left out, so that it panics where its caller recovers it.
func (m *member) decideIn(c *Change) (err error) {
	defer func() {
		if recover() != nil {
			err = errLeftOut
		}
	}()
	return m.decide(c)
}
