package subscriptions

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"openintent/messaging/reading"

	"openintent/agents"
	"openintent/database"
	"openintent/fault"
	"openintent/intents"
)

const (
	// gatherPage is how many deliveries one page of an intent's log gives at most.
	gatherPage = 128
	// window bounds the deliveries that a subscription has gathered and that are not done with: beyond it, gathering waits
	// for acknowledgements, and the intents' logs keep the rest.
	window = 1000
	// unwritten is how far a gatherer may be ahead, in positions, of what is stored: a busy intent in which nothing is for
	// the subscriber costs no write for each message.
	unwritten = 256
)

// gatherer numbers for a subscription what its intents' logs hold behind its positions. Any number of them may gather for
// one subscription at once, in any processes: a page is read without a lock, and numbered under the subscription's lock
// only if nobody has moved the intent's position since. Then the other one has numbered what was on it.
type gatherer struct {
	service *Service
	no      int64
	// looked is how far this gatherer has looked at intents without finding anything, beyond what is stored.
	looked map[int64]int64
	// refused are the intents that the subscriber has no access to, with the epoch of the rules that say so.
	refused  map[int64]int64
	presence agents.Presence
}

func (s *Service) newGatherer(no int64) *gatherer {
	return &gatherer{service: s, no: no, looked: make(map[int64]int64), refused: make(map[int64]int64)}
}

// sight is what one look at a subscription saw.
type sight struct {
	sub      *subscription
	presence agents.Presence
	now      time.Time
	// live is how many deliveries are not done with.
	live int64
	// intents are those from which something may reach the subscriber, and positions how far they are gathered; one that is
	// missing there is not gathered at all yet.
	intents   []int64
	positions map[int64]int64
	// states are how far these have come, of a subscription to whatever reaches the subscriber.
	states map[int64]intents.State
	// news are the intents whose logs have grown beyond what was gathered.
	news []news
}

// news is an intent of which something is still to be gathered.
type news struct {
	intentNo, epoch int64
	// stored is how far it was gathered, through how far it has to be.
	stored, through int64
}

// numbered is an entry with the delivery that it became.
type numbered struct {
	delivery
	entry reading.Entry
}

// look reads in one snapshot how the subscription stands and where there is something to gather. A subscription that is
// deleted is errNotFound, one that has ended errEnded.
func (g *gatherer) look(ctx context.Context, subscriber string) (*sight, error) {
	var seen *sight
	err := g.service.db.Read(ctx, func(tx *database.Tx) error {
		seen = &sight{presence: agents.Presence{AgentID: subscriber}}
		load, loaded := prepareLoad(g.no)
		read, presences := agents.PreparePresences(tx, []string{subscriber})
		positions, readPositions := preparePositions(g.no)
		count := database.Statement{
			SQL:  "SELECT COUNT(*) FROM subscription_deliveries d WHERE " + live,
			Args: []any{g.no},
			Scan: func(row database.Row) error { return row.Scan(&seen.live) },
		}
		if err := tx.Pipeline(load, read, readPositions, count); err != nil {
			return err
		}
		var err error
		if seen.sub, err = loaded(); err != nil {
			return err
		}
		if presence, registered := presences[subscriber]; registered {
			seen.presence = presence
		}
		seen.now = tx.Now()
		if !seen.sub.active(seen.now) {
			return errEnded
		}
		seen.positions = positions
		return g.findNews(tx, seen)
	})
	if err != nil {
		return nil, err
	}
	if seen.presence != g.presence {
		clear(g.refused) // what it has access to may have changed with it
		g.presence = seen.presence
	}
	return seen, nil
}

func (g *gatherer) findNews(tx *database.Tx, seen *sight) error {
	if !seen.sub.wide() { // its log is always read: that tells of lost access and of the end, too
		no := seen.sub.intentNo
		seen.intents, seen.news = []int64{no}, []news{{intentNo: no, stored: seen.positions[no], through: math.MaxInt64}}
		return nil
	}
	var err error
	seen.intents, err = reading.ReachingIntents(tx, seen.sub.subscriber, heldRole(seen.presence))
	if err != nil {
		return err
	}
	states, read := intents.PrepareStates(tx, seen.intents)
	if err := tx.Pipeline(read); err != nil {
		return err
	}
	seen.states = make(map[int64]intents.State, len(seen.intents))
	g.forget(seen.intents)
	for _, head := range *states {
		seen.states[head.IntentNo] = head
		if g.looked[head.IntentNo] > head.LastPosition { // the log went back: see message.ErrCursorBeyondLog
			delete(g.looked, head.IntentNo)
		}
		one := news{intentNo: head.IntentNo, epoch: head.Epoch, stored: seen.positions[head.IntentNo], through: head.LastPosition}
		if epoch, refused := g.refused[one.intentNo]; refused && epoch == one.epoch {
			continue
		}
		if one.through > max(one.stored, g.looked[one.intentNo]) {
			seen.news = append(seen.news, one)
		}
	}
	return nil
}

// forget drops what is known of intents that reach the subscriber no more. They come rising.
func (g *gatherer) forget(reaching []int64) {
	gone := func(intentNo, _ int64) bool {
		_, still := slices.BinarySearch(reaching, intentNo)
		return !still
	}
	maps.DeleteFunc(g.looked, gone)
	maps.DeleteFunc(g.refused, gone)
}

// heldRole is the role that the agent holds now, or "".
func heldRole(presence agents.Presence) string {
	if presence.HoldsRole(presence.RoleID) {
		return presence.RoleID
	}
	return ""
}

// step gathers one page of an intent and gives what this gatherer has numbered of it. done is true when nothing more of the
// news is left; ended, when nothing will ever follow in the subscription's channel. An intent to which the subscriber has no
// access is passed over by a subscription to whatever reaches it, and refused by one to that intent.
func (g *gatherer) step(
	ctx context.Context, sub *subscription, n *news, limit int,
) (found []numbered, done, ended bool, err error) {
	after := max(n.stored, g.looked[n.intentNo])
	page, err := g.service.messaging.ReadFeed(ctx, sub.feed(n.intentNo), after, limit)
	if isRefusal(err) && sub.wide() {
		g.refused[n.intentNo] = n.epoch
		return nil, true, false, nil
	}
	if err != nil {
		return nil, false, false, err
	}
	kept := page.Entries[:0]
	for _, entry := range page.Entries {
		if sub.counts(entry) {
			kept = append(kept, entry)
		}
	}
	reached := page.Through >= min(n.through, page.Last)
	switch {
	case page.Through <= after:
		return nil, true, page.Ended, nil
	case len(kept) == 0 && page.Through-n.stored < unwritten:
		g.looked[n.intentNo] = page.Through
		return nil, reached, page.Ended, nil
	}
	found, stored, err := g.service.number(ctx, sub, n.intentNo, after, page.Through, kept)
	if err != nil {
		return nil, false, false, err
	}
	n.stored = stored
	delete(g.looked, n.intentNo)
	return found, stored >= min(n.through, page.Last), page.Ended && stored >= page.Through, nil
}

// isRefusal tells whether an error says that the reader may not see what it asked for.
func isRefusal(err error) bool {
	if err == nil {
		return false
	}
	kind := fault.From(err).Kind
	return kind == fault.Denied || kind == fault.NotFound
}

// number gives the entries of a page the subscription's next numbers, unless somebody else has gathered beyond the place
// where the page begins. stored is how far the intent is gathered then.
func (s *Service) number(
	ctx context.Context, sub *subscription, intentNo, after, through int64, entries []reading.Entry,
) (found []numbered, stored int64, err error) {
	err = s.db.Write(ctx, func(tx *database.Tx) error {
		found, stored = nil, through
		position, read := preparePosition(sub.no, intentNo)
		locked, now, err := lock(tx, sub.no, read)
		switch {
		case err != nil:
			return err
		case !locked.active(now):
			return errEnded
		case *position > after:
			stored = *position
			return nil
		}
		rows := make([]delivery, len(entries))
		found = make([]numbered, len(entries))
		for i, entry := range entries {
			rows[i] = delivery{
				number: locked.lastNumber + int64(i) + 1, intentNo: intentNo, position: entry.Position, channelNo: entry.ChannelNo,
			}
			if !locked.own() {
				rows[i].dueAt = now
			}
			found[i] = numbered{rows[i], entry}
		}
		tx.SendWithCommit(insertDeliveries(tx, sub.no, rows, now)...)
		tx.SendWithCommit(setPosition(sub.no, intentNo, through), database.Statement{
			SQL:  "UPDATE subscriptions SET last_number = ? WHERE subscription_no = ?",
			Args: []any{locked.lastNumber + int64(len(rows)), sub.no},
		})
		if len(rows) > 0 && locked.posted() {
			tx.SendWithCommit(setPostAt(sub.no, now))
		}
		return nil
	})
	return found, stored, err
}

// gather gathers for a subscription that is to be acknowledged whatever its window has room for. ended is true when its
// channel will give nothing more and all of it was gathered.
func (g *gatherer) gather(ctx context.Context, seen *sight) (ended bool, err error) {
	for i := range seen.news {
		n := &seen.news[i]
		for done := false; !done; {
			room := window - int(seen.live)
			if room <= 0 {
				return false, g.checkAccess(ctx, seen.sub, n.stored)
			}
			var found []numbered
			if found, done, ended, err = g.step(ctx, seen.sub, n, min(room, gatherPage)); err != nil {
				return false, err
			}
			seen.live += int64(len(found))
		}
	}
	return ended, nil
}

// checkAccess refuses a subscriber that has lost access to what the subscription follows.
func (g *gatherer) checkAccess(ctx context.Context, sub *subscription, position int64) error {
	if sub.wide() {
		return nil
	}
	_, err := g.service.messaging.ReadFeed(ctx, sub.feed(sub.intentNo), position, 1)
	return err
}
