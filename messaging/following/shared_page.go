package following

import (
	"cmp"
	"slices"
	"time"

	"openintent/channels"
	"openintent/messaging/reading"
	"openintent/messaging/wake"
)

// sharedPage is what a tail shares with its followers after one look: the state of the scope and its newest items. It is
// never changed; superseded is closed when there is a newer one. A follower that has fallen behind the shared page reads
// its own pages.
type sharedPage struct {
	// The LogPage's items are all items of the scope with after < place <= Through. sharedSince is when the first of them
	// were read.
	reading.LogPage
	after       int64
	size        int
	sharedSince time.Time
	// number is the number of the tail's look: a look that began later has a higher number. A page that follows by a
	// handover keeps the number of the page before.
	number int64
	anchor anchor
	losses losses
	// positions is true when the scope is one channel whose places are positions, and not ordinals.
	positions bool
	// exclusions are the intent's exclusions for agentIDs, when the scope is an intent.
	exclusions *channels.Exclusions
	agentIDs   []string
	// err is set when the scope can no longer be looked at.
	err        error
	superseded chan struct{}
}

// stale reports whether the page must not take over the items of the page before, so that those who need them read them
// again. When rules have changed, open requests may have changed with them; after a while, statuses have.
func (s *sharedPage) stale(before *sharedPage) bool {
	return before.Head.Epoch != s.Head.Epoch || s.Now.Sub(before.sharedSince).Abs() > wake.SharedFor // Abs, because clocks are set back
}

// share takes over the items of the page before, if keep is set, and adds the items that came since. These are all items
// with from < place <= through.
func (s *sharedPage) share(before *sharedPage, keep bool, from int64, items []reading.Item, through int64) {
	s.Items, s.after, s.Through, s.sharedSince = nil, from, through, s.Now
	if keep && len(before.Items) > 0 {
		s.Items, s.size, s.after, s.sharedSince = before.Items, before.size, before.after, before.sharedSince
	}
	for i := range items {
		items[i].Encodings = new(reading.Encodings)
		s.size += items[i].Size()
	}
	s.Items = append(s.Items, items...)
	for len(s.Items) > tailLength || s.size > tailBytes {
		s.size -= s.Items[0].Size()
		s.Items, s.after = s.Items[1:], s.Items[0].Place
	}
}

// since returns the shared items that lie after a cursor.
func (s *sharedPage) since(cursor int64) []reading.Item {
	at, _ := slices.BinarySearchFunc(s.Items, cursor+1, func(it reading.Item, place int64) int { return cmp.Compare(it.Place, place) })
	return s.Items[at:]
}

// end is the place of the scope's newest item.
func (s *sharedPage) end() int64 {
	if s.byOrdinal() {
		return s.Count.Messages
	}
	return s.Head.LastPosition
}

// byOrdinal reports whether the scope's places are ordinals of a channel. Otherwise they are positions in the intent's log.
func (s *sharedPage) byOrdinal() bool { return s.Channel != nil && !s.positions }

// ended reports whether nothing can follow any more.
func (s *sharedPage) ended() bool { return s.Channel != nil && s.Closed() }

// nextChange is when access may change by time alone. It is zero when no such time is known.
func (s *sharedPage) nextChange() time.Time {
	if s.Access == nil {
		return time.Time{}
	}
	return s.Access.NextChange(s.Now)
}
