package delivering

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
	"openintent/subscriptions/record"
)

// PageBytes bounds the size of one answer.
const PageBytes = 3 << 20

// readPage reads a page of an intent's log, and what its messages ask of the subscriber if that is wanted.
func (s *Supplier) readPage(
	ctx context.Context, sub *record.Subscription, attention bool, intentNo, after int64, limit int,
) (messaging.FeedPage, error) {
	feed := sub.Feed(intentNo)
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
	record.Delivery
	entry reading.Entry
	// parts are set in subscriptions with windows: all for which the delivery stands, oldest first (windows_content.go).
	parts []reading.Entry
	Wire  *openintentv1.SubscriptionDelivery
}

// Pack reads the contents of deliveries until an answer is full, or until nothing is left. It returns the parcels, and the deliveries to
// skip because they contain nothing for the subscriber. What is small it reads at once. When that is too much, it goes on in steps of as
// many deliveries as will probably fit, so it never holds much more than an answer. held is how many bytes the answer has already.
func (s *Supplier) Pack(
	ctx context.Context, sub *record.Subscription, rows []record.Delivery, held int,
) (parcels []parcel, gone []record.Delivery, err error) {
	rows = rows[:fewPlaces(rows)]
	step, size := len(rows), held
	for len(rows) > 0 && size < PageBytes {
		found, known, err := s.SomeContents(ctx, sub, rows[:min(step, len(rows))], sub.Wide())
		if err != nil {
			return nil, nil, err
		}
		for _, d := range rows[:known] {
			entries := found[d.Number]
			if len(entries) == 0 {
				gone = append(gone, d)
				continue
			}
			p, err := parcelOf(sub, d, entries)
			if err != nil {
				return nil, nil, err
			}
			if size += proto.Size(p.Wire); size > PageBytes && held+len(parcels) > 0 {
				return parcels, gone, nil
			}
			parcels = append(parcels, p)
		}
		rows = rows[known:]
		if size > held {
			step = 1 + len(parcels)*max(0, PageBytes-size)/(size-held)
		}
	}
	return parcels, gone, nil
}

// packAgain reads the contents of parcels again, because they are no longer fresh.
func (s *Supplier) packAgain(ctx context.Context, sub *record.Subscription, parcels []parcel) (fresh []parcel, gone []record.Delivery, err error) {
	rows := make([]record.Delivery, len(parcels))
	for i, p := range parcels {
		rows[i] = p.Delivery
	}
	return s.Pack(ctx, sub, rows, 0)
}

// DeadLetters returns a page of dead letters. It reads their current contents, so a content may be missing.
func (s *Supplier) DeadLetters(
	ctx context.Context, sub *record.Subscription, after int64, limit int,
) (letters []*openintentv1.DeadLetter, err error) {
	for size := 0; limit > 0; {
		page := min(limit, OfferPage)
		rows, ids, err := s.deadLetterRows(ctx, sub, after, page)
		if err != nil {
			return nil, err
		}
		found, known, err := s.SomeContents(ctx, sub, rows[:fewPlaces(rows)], true)
		if err != nil {
			return nil, err
		}
		for _, d := range rows[:known] {
			letter := &openintentv1.DeadLetter{Reason: d.Reason, DeadAt: timestamppb.New(d.DeadAt)}
			if letter.Delivery, err = wireOf(sub, d, found[d.Number]); err != nil {
				return nil, err
			}
			letter.Delivery.IntentId = ids[d.IntentNo]
			letters = append(letters, letter)
			if size += proto.Size(letter); size > pages.MaxBytes {
				return letters, nil
			}
			after = d.Number
		}
		if known == len(rows) && len(rows) < page {
			return letters, nil
		}
		limit -= known
	}
	return letters, nil
}

// deadLetterRows reads dead letters with the ids of their intents.
func (s *Supplier) deadLetterRows(
	ctx context.Context, sub *record.Subscription, after int64, limit int,
) (rows []record.Delivery, ids map[int64]string, err error) {
	err = s.db.ReadFor(ctx, caller.ReaderOf(ctx, sub.Subscriber), func(tx *database.Tx) error {
		rows, err = record.Deliveries(tx, record.DeadOf(tx)+" AND d.number > ?", " LIMIT ?",
			sub.No, after, limit)
		if err != nil {
			return err
		}
		_, order := byPlace(rows)
		ids, err = IntentIDs(tx, order)
		return err
	})
	return rows, ids, err
}

// IntentIDs returns the ids of intents.
func IntentIDs(tx *database.Tx, intentNos []int64) (map[int64]string, error) {
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
