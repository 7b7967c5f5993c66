package posting

import (
	"context"

	"openintent/messaging/reading"
)

// Trace is called before messages are posted to an address. It returns the traceparent that the post carries, or "", and a function,
// which is called with the outcome. A nil Trace does nothing.
type Trace func(
	ctx context.Context, to reading.Consumer, address string, messages ...reading.Traced,
) (traceparent string, posted func(Posted))

// Posted is how a post went.
type Posted struct {
	// Status is the answer's HTTP status; 0 without an answer.
	Status int
	// Problem is a public sentence; empty if the post was delivered.
	Problem string
}

// beginPosting tells that an entry is about to be posted.
func (run *dispatch) beginPosting(ctx context.Context, entry reading.Entry) (traceparent string, posted func(Posted)) {
	posting := run.poster.trace
	if posting == nil || entry.Message == nil {
		return "", func(Posted) {}
	}
	return posting(ctx, run.sub.Receiving(), run.url, reading.Traced{Message: entry.Message, IntentID: entry.IntentID})
}
