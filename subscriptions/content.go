package subscriptions

import (
	"context"

	"openintent/messaging/reading"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/pages"
	"openintent/messaging"
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

// parcel is a delivery with its content, ready to be sent.
type parcel struct {
	delivery
	entry reading.Entry
	// parts are set in subscriptions with windows: all for which the delivery stands, oldest first (windows_content.go).
	parts []reading.Entry
	wire  *openintentv1.SubscriptionDelivery
}

// pack reads the contents of deliveries until an answer is full, or until nothing is left. It returns the parcels, and the deliveries to
// skip because they contain nothing for the subscriber. What is small it reads at once. When that is too much, it goes on in steps of as
// many deliveries as will probably fit, so it never holds much more than an answer. held is how many bytes the answer has already.
func (s *Service) pack(
	ctx context.Context, sub *subscription, rows []delivery, held int,
) (parcels []parcel, gone []delivery, err error) {
	rows = rows[:fewPlaces(rows)]
	step, size := len(rows), held
	for len(rows) > 0 && size < pageBytes {
		found, known, err := s.someContents(ctx, sub, rows[:min(step, len(rows))], sub.wide())
		if err != nil {
			return nil, nil, err
		}
		for _, d := range rows[:known] {
			entries := found[d.number]
			if len(entries) == 0 {
				gone = append(gone, d)
				continue
			}
			p, err := parcelOf(sub, d, entries)
			if err != nil {
				return nil, nil, err
			}
			if size += proto.Size(p.wire); size > pageBytes && held+len(parcels) > 0 {
				return parcels, gone, nil
			}
			parcels = append(parcels, p)
		}
		rows = rows[known:]
		if size > held {
			step = 1 + len(parcels)*max(0, pageBytes-size)/(size-held)
		}
	}
	return parcels, gone, nil
}

// packAgain reads the contents of parcels again, because they are no longer fresh.
func (s *Service) packAgain(ctx context.Context, sub *subscription, parcels []parcel) (fresh []parcel, gone []delivery, err error) {
	rows := make([]delivery, len(parcels))
	for i, p := range parcels {
		rows[i] = p.delivery
	}
	return s.pack(ctx, sub, rows, 0)
}

// deadLetters returns a page of dead letters. It reads their current contents, so a content may be missing.
func (s *Service) deadLetters(
	ctx context.Context, sub *subscription, after int64, limit int,
) (letters []*openintentv1.DeadLetter, err error) {
	for size := 0; limit > 0; {
		page := min(limit, offerPage)
		rows, ids, err := s.deadLetterRows(ctx, sub, after, page)
		if err != nil {
			return nil, err
		}
		found, known, err := s.someContents(ctx, sub, rows[:fewPlaces(rows)], true)
		if err != nil {
			return nil, err
		}
		for _, d := range rows[:known] {
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
		if known == len(rows) && len(rows) < page {
			return letters, nil
		}
		limit -= known
	}
	return letters, nil
}

// deadLetterRows reads dead letters with the ids of their intents.
func (s *Service) deadLetterRows(
	ctx context.Context, sub *subscription, after int64, limit int,
) (rows []delivery, ids map[int64]string, err error) {
	err = s.db.ReadFor(ctx, caller.ReaderOf(ctx, sub.subscriber), func(tx *database.Tx) error {
		rows, err = deliveries(tx, deadOf(tx)+" AND d.number > ?", " LIMIT ?",
			sub.no, after, limit)
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
