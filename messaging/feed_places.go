package messaging

import (
	"context"
	"slices"

	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/reading"
)

// ReadEntries reads the entries at some positions, in order: those that are still kept and that the reader may still see, with
// attention if the filter says so. However large they are, it reads all of them. A reader without access is refused.
func (s *Service) ReadEntries(ctx context.Context, feed Feed, positions []int64) ([]reading.Entry, error) {
	entries, _, err := s.readPlaces(ctx, feed, positions, func(*feedView) bool { return false })
	return entries, err
}

// ReadSome reads as ReadEntries does, but ends after a page that is full, or when the pages have reached a number of bytes. So it never
// holds more than these bytes and one page. through is the position up to which it has read: at least that of the first entry, and the
// last one if nothing is left.
func (s *Service) ReadSome(
	ctx context.Context, feed Feed, positions []int64, most int,
) (entries []reading.Entry, through int64, err error) {
	size := 0
	return s.readPlaces(ctx, feed, positions, func(page *feedView) bool {
		for _, it := range page.Items {
			size += it.Size()
		}
		return page.Cut || size >= most
	})
}

// readPlaces reads the entries at some positions, page by page, until a page is enough. through is the position up to which it has read.
func (s *Service) readPlaces(
	ctx context.Context, feed Feed, positions []int64, enough func(page *feedView) bool,
) (entries []reading.Entry, through int64, err error) {
	err = s.db.ReadFor(ctx, caller.ReaderOf(ctx, feed.By.Agent), func(tx *database.Tx) error {
		wanted := database.Distinct(slices.Clone(positions))
		for len(wanted) > 0 {
			r := feed.reading()
			r.At = wanted[:min(len(wanted), feedPage)]
			r.Limit = len(r.At) + 1 // so that only its size in bytes can cut a page
			seen, err := s.view(tx, feed, r)
			if err != nil {
				return err
			}
			some, err := seen.attended(tx)
			if err != nil {
				return err
			}
			entries = append(entries, some...)
			through = r.At[len(r.At)-1]
			if seen.Cut {
				through = seen.Through
			}
			if enough(seen) {
				return nil
			}
			wanted = slices.DeleteFunc(wanted, func(position int64) bool { return position <= through })
		}
		return nil
	})
	return entries, through, err
}
