package doors

import openintentv1 "openintent/gen/openintent/v1"

// IndexIncomplete reports whether the index lacks messages that a search might have found, beside those of the last moment.
func IndexIncomplete(page *openintentv1.SearchMessagesResponse) bool {
	return page.GetCompleteThrough() == nil || page.GetCompleteFrom() != nil || page.GetIntentsNotIndexed() > 0
}
