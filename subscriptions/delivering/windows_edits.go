package delivering

import (
	"context"
	"slices"

	"openintent/messaging/message"
	"openintent/messaging/reading"
	"openintent/subscriptions/record"
	"openintent/subscriptions/waiting"
)

// recalled returns the messages that wait for a digest and that an edit in a part of an intent's log has made too important for one:
// now they mention the subscriber. They must not wait until the digest is due.
func (s *Supplier) recalled(ctx context.Context, sub *record.Subscription, intentNo, after, through int64) ([]reading.Entry, error) {
	waits, err := s.readWaiting(ctx, sub.No)
	if err != nil {
		return nil, err
	}
	waits = slices.DeleteFunc(waits, func(w waiting.Message) bool { return !w.Digest || w.IntentNo != intentNo })
	if len(waits) == 0 {
		return nil, nil
	}
	var positions []int64
	edits := sub.Feed(intentNo)
	edits.Filter = reading.Filter{EventTypes: []string{string(message.AnnotationEdit)}, Annotations: true}
	for after < through {
		page, err := s.messaging.ReadFeed(ctx, edits, after, GatherPage)
		if err != nil {
			return nil, err
		}
		if page.Through <= after {
			break
		}
		for _, entry := range page.Entries {
			at := entry.Annotation.MessagePosition
			if slices.ContainsFunc(waits, func(w waiting.Message) bool { return w.Position == at }) {
				positions = append(positions, at)
			}
		}
		after = page.Through
	}
	if len(positions) == 0 {
		return nil, nil
	}
	feed := sub.Feed(intentNo)
	feed.Filter.Attention = true
	entries, err := s.messaging.ReadEntries(ctx, feed, positions)
	return slices.DeleteFunc(entries, func(e reading.Entry) bool { return !waitingEntry(e).TooImportant() }), err
}
