package openintent

import "context"

// EveryPage collects the entries of a list that the server returns in pages, for callers of a generated client (Raw).
// The page function gets the cursor of the page, nil at first, and returns the cursor of the next page, nil at the
// end.
func EveryPage[T any](
	ctx context.Context, page func(ctx context.Context, cursor *string) (entries []T, next *string, err error),
) (all []T, err error) {
	for cursor := (*string)(nil); ; {
		entries, next, err := page(ctx, cursor)
		if err != nil {
			return nil, FromError(err)
		}
		if all = append(all, entries...); next == nil {
			return all, nil
		}
		cursor = next
	}
}
