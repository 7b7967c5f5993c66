package torture

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
)

// readInbox reads an agent's inbox page by page, repeatedly from the oldest, and marks everything that it finds,
// except requests, as read.
func (w *world) readInbox(ctx context.Context, agent string) {
	f := w.newFollowing(agent, "inbox", "everything", State)
	var cursor *string
	w.startReceiver(ctx, f, func(f *following, ctx context.Context) error {
		begun := f.now()
		attempt, cancel := context.WithTimeout(ctx, attemptTime)
		defer cancel()
		inbox, err := f.caller().Messages.GetInbox(attempt, &openintentv1.GetInboxRequest{
			AgentId: agent, Limit: proto.Int32(int32(10 + f.random.IntN(100))), WaitSeconds: proto.Float64(2), Cursor: cursor,
		})
		if err != nil {
			return err
		}
		f.accept()
		cursor = inbox.NextCursor
		connection := f.connect(f.receiver, 0, begun)
		var ids []string
		for _, item := range inbox.GetItems() {
			m := messageOf(item.GetIntentId(), item.GetMessage())
			f.take(ctx, connection, Delivery{Message: m})
			if m.Kind != Request {
				ids = append(ids, m.ID)
			}
		}
		f.markRead(attempt, ids)
		if len(ids) == 0 {
			f.rest(ctx, 50*time.Millisecond, 200*time.Millisecond)
		}
		return nil
	})
}

func (f *following) markRead(ctx context.Context, ids []string) {
	if len(ids) == 0 || f.once(5) {
		return
	}
	_, err := f.caller().Messages.MarkInboxRead(ctx, &openintentv1.MarkInboxReadRequest{AgentId: f.agent, MessageIds: ids})
	if err == nil {
		var done []Done
		for _, id := range ids {
			done = append(done, Done{ID: id})
		}
		f.done(f.receiver, done...)
	} else if !transient(err) && !f.mayBeDenied {
		f.problem("%s cannot mark messages read: %v", f.receiver.Name, err)
	}
}
