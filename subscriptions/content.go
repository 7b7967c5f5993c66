package subscriptions

import (
	"context"
	"slices"

	"openintent/messaging/reading"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"openintent/database"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/messaging"
	"openintent/pages"
)

// pageBytes bounds the size of one answer.
const pageBytes = 3 << 20

// readPage reads a page of an intent's log, and what its messages ask of the subscriber if that is wanted.
func (s *Service) readPage(
	ctx context.Context, sub *subscription, attention bool, intentNo, after int64, limit int,
) (messaging.FeedPage, error) {
	feed := sub.feed(intentNo)
	page, err := s.messaging.ReadFeed(ctx, feed, after, limit)
	if err != nil || !attention || len(page.Entries) == 0 {
		return page, err
	}
	positions := make([]int64, len(page.Entries))
	for i, entry := range page.Entries {
		positions[i] = entry.Position
	}
	feed.Filter.Attention = true
	page.Entries, err = s.messaging.ReadEntries(ctx, feed, positions)
	return page, err
}

// contents reads the contents of deliveries as the subscriber may see them now, by number. If a content is missing from the
// result, it is gone, or the subscriber may no longer see it. If the subscriber has lost access to an intent and passing is
// true, contents leaves that intent out; if passing is false, it returns the refusal.
func (s *Service) contents(
	ctx context.Context, sub *subscription, filter reading.Filter, rows []delivery, passing bool,
) (map[int64]reading.Entry, error) {
	found := make(map[int64]reading.Entry, len(rows))
	numbers, order := byPlace(rows)
	for _, intentNo := range order {
		positions := make([]int64, 0, len(numbers[intentNo]))
		for position := range numbers[intentNo] {
			positions = append(positions, position)
		}
		slices.Sort(positions)
		feed := sub.feed(intentNo)
		feed.Filter = filter
		entries, err := s.messaging.ReadEntries(ctx, feed, positions)
		if isRefusal(err) && passing {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			found[numbers[intentNo][entry.Position]] = entry
		}
	}
	return found, nil
}

// byPlace indexes deliveries by intent and position. order lists the intents in the order in which they first appear.
func byPlace(rows []delivery) (numbers map[int64]map[int64]int64, order []int64) {
	numbers = make(map[int64]map[int64]int64)
	note := func(intentNo, position, number int64) {
		if numbers[intentNo] == nil {
			numbers[intentNo] = make(map[int64]int64)
			order = append(order, intentNo)
		}
		numbers[intentNo][position] = number
	}
	for _, d := range rows {
		if d.sources == nil {
			note(d.intentNo, d.position, d.number)
			continue
		}
		for _, place := range d.sources.Places {
			note(place[0], place[1], d.number)
		}
	}
	return numbers, order
}

// parcel is a delivery with its content, ready to be sent.
type parcel struct {
	delivery
	entry reading.Entry
	// parts are set in subscriptions with windows: all for which the delivery stands, oldest first (windows_content.go).
	parts []reading.Entry
	wire  *openintentv1.SubscriptionDelivery
}

// pack reads the contents of as many deliveries as fit into a page. It returns the parcels, and the deliveries to skip because
// they contain nothing for the subscriber.
func (s *Service) pack(ctx context.Context, sub *subscription, rows []delivery) (parcels []parcel, gone []delivery, err error) {
	if sub.windowed() {
		return s.packTogether(ctx, sub, rows)
	}
	found, err := s.contents(ctx, sub, sub.filter, rows, sub.wide())
	if err != nil {
		return nil, nil, err
	}
	size := 0
	for _, d := range rows {
		entry, there := found[d.number]
		if !there {
			gone = append(gone, d)
			continue
		}
		wire, err := toWire(sub, d, &entry)
		if err != nil {
			return nil, nil, err
		}
		if size += proto.Size(wire); size > pageBytes && len(parcels) > 0 {
			break
		}
		parcels = append(parcels, parcel{delivery: d, entry: entry, wire: wire})
	}
	return parcels, gone, nil
}

// deadLetters returns a page of dead letters. It reads their current contents, so a content may be missing.
func (s *Service) deadLetters(
	ctx context.Context, sub *subscription, after int64, limit int,
) (letters []*openintentv1.DeadLetter, err error) {
	for size := 0; limit > 0; {
		page := min(limit, offerPage)
		rows, ids, err := s.deadLetterRows(ctx, sub.no, after, page)
		if err != nil {
			return nil, err
		}
		found, err := s.letterContents(ctx, sub, rows)
		if err != nil {
			return nil, err
		}
		for _, d := range rows {
			letter := &openintentv1.DeadLetter{Reason: d.reason, DeadAt: timestamppb.New(d.deadAt)}
			if letter.Delivery, err = wireOf(sub, d, found[d.number]); err != nil {
				return nil, err
			}
			letter.Delivery.IntentId = ids[d.intentNo]
			letters = append(letters, letter)
			if size += proto.Size(letter); size > pages.MaxBytes {
				return letters, nil
			}
			after = d.number
		}
		if len(rows) < page {
			return letters, nil
		}
		limit -= len(rows)
	}
	return letters, nil
}

// letterContents reads the contents of dead letters, by number.
func (s *Service) letterContents(ctx context.Context, sub *subscription, rows []delivery) (map[int64][]reading.Entry, error) {
	if sub.windowed() {
		return s.sourceContents(ctx, sub, rows, true)
	}
	found, err := s.contents(ctx, sub, sub.filter, rows, true)
	entries := make(map[int64][]reading.Entry, len(found))
	for number, entry := range found {
		entries[number] = []reading.Entry{entry}
	}
	return entries, err
}

// deadLetterRows reads dead letters with the ids of their intents.
func (s *Service) deadLetterRows(
	ctx context.Context, no, after int64, limit int,
) (rows []delivery, ids map[int64]string, err error) {
	err = s.db.Read(ctx, func(tx *database.Tx) error {
		rows, err = deliveries(tx, "d.subscription_no = ? AND d.dead_at IS NOT NULL AND d.number > ?", " LIMIT ?",
			no, after, limit)
		if err != nil {
			return err
		}
		_, order := byPlace(rows)
		ids, err = intentIDs(tx, order)
		return err
	})
	return rows, ids, err
}

// intentIDs returns the ids of intents.
func intentIDs(tx *database.Tx, intentNos []int64) (map[int64]string, error) {
	statement, heads := intents.PrepareHeads(tx, intentNos)
	if err := tx.Pipeline(statement); err != nil {
		return nil, err
	}
	ids := make(map[int64]string, len(intentNos))
	for _, head := range heads() {
		ids[head.IntentNo] = head.IntentID
	}
	return ids, nil
}
