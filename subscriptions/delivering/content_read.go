package delivering

import (
	"context"
	"math"
	"slices"

	"openintent/messaging/reading"
	"openintent/subscriptions/record"
)

// maxPlaces bounds the places that are read for one answer. No single delivery stands for that many.
const maxPlaces = 1000

// fewPlaces returns how many of the deliveries, from the first on, stand for at most maxPlaces places.
func fewPlaces(rows []record.Delivery) (count int) {
	places := 0
	for count < len(rows) {
		if places += len(rows[count].Places()); places > maxPlaces && count > 0 {
			break
		}
		count++
	}
	return count
}

// contentQuery says what is read of the places of deliveries.
type contentQuery struct {
	filter reading.Filter
	// passing leaves out intents to which the subscriber has lost access; otherwise they are refused.
	passing bool
	// facts leaves only messages, without their contents.
	facts bool
	// most is how many bytes are read, and one page of a log beyond that; 0 for everything.
	most int
}

// read reads positions of an intent. through is the position up to which it has read.
func (q contentQuery) read(
	ctx context.Context, s *Supplier, sub *record.Subscription, intentNo int64, positions []int64, left int,
) (entries []reading.Entry, through int64, err error) {
	feed := sub.Feed(intentNo)
	feed.Filter, feed.Facts = q.filter, q.facts
	if q.most > 0 {
		entries, through, err = s.messaging.ReadSome(ctx, feed, positions, left)
	} else {
		entries, err = s.messaging.ReadEntries(ctx, feed, positions)
		through = math.MaxInt64
	}
	if q.passing && IsRefusal(err) {
		return nil, math.MaxInt64, nil
	}
	return entries, through, err
}

// placedEntries are entries by intent and position.
type placedEntries map[[2]int64]reading.Entry

// at returns the entries at the places of a delivery, in the order of the places.
func (found placedEntries) at(d record.Delivery) (entries []reading.Entry) {
	for _, place := range d.Places() {
		if entry, there := found[place]; there {
			entries = append(entries, entry)
		}
	}
	return entries
}

// Contents reads the contents of deliveries of one place each, as the subscriber may see them now, by number. If a content is missing
// from the result, it is gone, or the subscriber may no longer see it. If the subscriber has lost access to an intent and passing is
// true, contents leaves that intent out; if passing is false, it returns the refusal.
func (s *Supplier) Contents(
	ctx context.Context, sub *record.Subscription, filter reading.Filter, rows []record.Delivery, passing bool,
) (map[int64]reading.Entry, error) {
	places, _, err := s.readPlaces(ctx, sub, contentQuery{filter: filter, passing: passing}, rows)
	if err != nil {
		return nil, err
	}
	found := make(map[int64]reading.Entry, len(rows))
	for _, d := range rows {
		if entry, there := places[[2]int64{d.IntentNo, d.Position}]; there {
			found[d.Number] = entry
		}
	}
	return found, nil
}

// SomeContents reads the contents of a beginning of some deliveries, by number and oldest first, as contents does. known is how many
// deliveries that are: as many as an answer may have bytes, and one at least.
func (s *Supplier) SomeContents(
	ctx context.Context, sub *record.Subscription, rows []record.Delivery, passing bool,
) (found map[int64][]reading.Entry, known int, err error) {
	if len(rows) == 0 {
		return nil, 0, nil
	}
	q := contentQuery{filter: sub.Filter, passing: passing, most: PageBytes}
	q.filter.Attention = q.filter.Attention || sub.Windowed()
	summed, wanted, err := s.summedUp(ctx, sub, q, rows)
	if err != nil {
		return nil, 0, err
	}
	full, known, err := s.readPlaces(ctx, sub, q, wanted)
	if err == nil && known == 0 { // the first delivery's places come after those of others
		q.most, known = 0, 1
		full, _, err = s.readPlaces(ctx, sub, q, wanted[:1])
	}
	if err != nil {
		return nil, 0, err
	}
	found = make(map[int64][]reading.Entry, known)
	for _, d := range rows[:known] {
		for _, place := range d.Places() {
			if entry, there := summed[place]; there {
				full[place] = entry
			}
		}
		found[d.Number] = full.at(d)
	}
	return found, known, nil
}

// summedUp reads what digests sum up, without contents. wanted are the deliveries with the places that must be read in full: in digests
// that is only what is for the subscriber by now.
func (s *Supplier) summedUp(
	ctx context.Context, sub *record.Subscription, q contentQuery, rows []record.Delivery,
) (summed placedEntries, wanted []record.Delivery, err error) {
	var digests []record.Delivery
	for _, d := range rows {
		if d.IsDigest() {
			digests = append(digests, d)
		}
	}
	if len(digests) == 0 {
		return nil, rows, nil
	}
	q.facts, q.most = true, 0
	if summed, _, err = s.readPlaces(ctx, sub, q, digests); err != nil {
		return nil, nil, err
	}
	wanted = slices.Clone(rows)
	for i, d := range wanted {
		if !d.IsDigest() {
			continue
		}
		full := &record.Sources{Digest: true}
		for _, place := range d.Places() {
			if entry, there := summed[place]; there && waitingEntry(entry).TooImportant() {
				full.Places = append(full.Places, place)
				delete(summed, place)
			}
		}
		wanted[i].Sources = full
	}
	return summed, wanted, nil
}

// readPlaces reads the places of deliveries, intent by intent, until that is enough. known is how many deliveries, from the first on, were
// read in full.
func (s *Supplier) readPlaces(ctx context.Context, sub *record.Subscription, q contentQuery, rows []record.Delivery) (found placedEntries, known int, err error) {
	found = make(placedEntries, len(rows))
	through := make(map[int64]int64)
	positions, order := byPlace(rows)
	size, cut := 0, false
	for _, intentNo := range order {
		if q.most > 0 && (cut || size >= q.most) {
			break
		}
		var entries []reading.Entry
		entries, through[intentNo], err = q.read(ctx, s, sub, intentNo, positions[intentNo], q.most-size)
		if err != nil {
			return nil, 0, err
		}
		for _, entry := range entries {
			found[[2]int64{intentNo, entry.Position}] = entry
			size += entry.Size()
		}
		cut = through[intentNo] < slices.Max(positions[intentNo])
	}
	unread := func(place [2]int64) bool { return place[1] > through[place[0]] }
	for known < len(rows) && !slices.ContainsFunc(rows[known].Places(), unread) {
		known++
	}
	return found, known, nil
}

// byPlace returns the positions of deliveries by intent. order lists the intents in the order in which they first appear.
func byPlace(rows []record.Delivery) (positions map[int64][]int64, order []int64) {
	positions = make(map[int64][]int64)
	for _, d := range rows {
		for _, place := range d.Places() {
			if positions[place[0]] == nil {
				order = append(order, place[0])
			}
			positions[place[0]] = append(positions[place[0]], place[1])
		}
	}
	return positions, order
}
