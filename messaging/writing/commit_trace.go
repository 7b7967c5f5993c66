package writing

import (
	"context"
	"time"

	"openintent/internal/jsonvalue"
	"openintent/messaging/message"
)

// Commit is a commit with drafts of traced calls, for whoever shows where a call's time went.
type Commit struct {
	Began, Ended time.Time
	// Size is how many drafts the commit decided. AtOnce is true if one round trip stored them.
	Size   int
	AtOnce bool
	// Err is why nothing was stored, or nil.
	Err error
	// Drafts are those of traced calls.
	Drafts []TracedDraft
}

// TracedDraft is a draft of a traced call.
type TracedDraft struct {
	// Context is that of the call.
	Context context.Context
	// Streamed is true for one of the many messages of a stream.
	Streamed bool
	// Queued is when the draft came.
	Queued time.Time
	// Metadata is the draft's.
	Metadata jsonvalue.Object
	// Message is the stored one; nil if the draft was refused.
	Message *message.Message
	// IntentID is the id of the message's intent, if there is a message.
	IntentID string
}

// Tracing shows in traces what becomes of drafts. The zero value shows nothing.
type Tracing struct {
	// Traced tells whether a call is traced.
	Traced func(ctx context.Context) bool
	// Committed is told of each commit with drafts of such calls, before their senders hear of it. It must not wait.
	Committed func(Commit)
}

// mark notes on a submission that its call is traced.
func (t Tracing) mark(ctx context.Context, s *submission, streamed bool) {
	if t.Traced != nil && t.Traced(ctx) {
		s.traced = &TracedDraft{Context: ctx, Streamed: streamed, Queued: processTime(), Metadata: s.draft.metadata}
	}
}

// time is when a commit begins; zero if nobody wants to know.
func (t Tracing) time() time.Time {
	if t.Traced == nil {
		return time.Time{}
	}
	return processTime()
}

// show tells of the drafts of a batch that have their outcome.
func (t Tracing) show(batch []*submission, b *batch, began time.Time, err error) {
	if t.Traced == nil {
		return
	}
	shown := Commit{Began: began, Ended: processTime(), Size: len(batch), Err: err}
	if err == nil {
		shown.Size, shown.AtOnce = len(batch)-len(b.passedOver), b.remembered
	}
	passedOver := 0
	for i, s := range batch {
		if err == nil && passedOver < len(b.passedOver) && b.passedOver[passedOver] == s {
			passedOver++
			continue
		}
		if s.traced == nil {
			continue
		}
		if err == nil {
			s.traced.Message = b.outcomes[i].Message
			if head := b.heads.Get(s.draft.IntentNo); head != nil {
				s.traced.IntentID = head.IntentID
			}
		}
		shown.Drafts = append(shown.Drafts, *s.traced)
	}
	if len(shown.Drafts) > 0 {
		t.Committed(shown)
	}
}
