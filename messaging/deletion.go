package messaging

import (
	"context"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/messaging/message"
	"openintent/messaging/writing"
)

var (
	errNotDeletable = fault.New(fault.Denied, "NOT_THE_SENDER",
		"Only the sender of a message and who manages its channel may delete it.")
	errAudited = fault.New(fault.Conflict, "AUDITED",
		"The channel is audited: the intent's log has a copy of the message, and nobody can change it.")
)

// DeleteMessage deletes a message's content. The message keeps its place, so that no count and no cursor changes.
func (s *Service) DeleteMessage(ctx context.Context, req *openintentv1.DeleteMessageRequest) (*openintentv1.Message, error) {
	c, err := caller.Known(ctx)
	if err != nil {
		return nil, err
	}
	acting, err := c.ActAs("agent_id", req.GetAgentId())
	if err != nil {
		return nil, err
	}
	var deleted *message.Message
	var now time.Time
	// Somebody who sees a request only by its id may delete it too, so that repeats are harmless: a deleted request has expired.
	err = s.HoldMessage(ctx, c, acting, req.GetChannelId(), req.GetMessageId(), message.Deletable, func(seen *Sighting) (err error) {
		now = seen.Snapshot.Now
		deleted, err = deleteContent(seen)
		return err
	})
	if err != nil {
		return nil, err
	}
	return deleted.ToWire(now)
}

// deleteContent decides about a deletion under the lock, and stores it.
func deleteContent(seen *Sighting) (*message.Message, error) {
	m := seen.Message
	if err := mayDelete(seen); err != nil || m.Deleted() {
		return m, err
	}
	copied, err := audited(seen)
	switch {
	case err != nil:
		return nil, err
	case copied:
		return nil, errAudited.With("message_id", m.ID)
	}
	return storeDeletion(seen)
}

// storeDeletion stores a deletion that was decided, in the viewer's name. It raises the intent's epoch, so that whoever shares the
// message's content here or on another replica reads it again, and whoever awaits its answers looks.
func storeDeletion(seen *Sighting) (*message.Message, error) {
	m := seen.Message
	deleted := m.WithoutContent(seen.head.Tick())
	if m.Open {
		if err := message.ExpireRequests(seen.Tx, seen.head, []int64{m.Position}); err != nil {
			return nil, err
		}
		deleted.Open, deleted.EndedAt = false, seen.head.Now()
	}
	if err := seen.Annotate(message.AnnotationDeletion, seen.Viewer.Agent, message.AnnotationDetails{}); err != nil {
		return nil, err
	}
	if err := seen.dischargeDeleted(); err != nil {
		return nil, err
	}
	seen.Tx.SendWithCommit(setContent(deleted), database.Statement{
		SQL:  "DELETE FROM message_revisions WHERE intent_no = ? AND position = ?",
		Args: []any{m.IntentNo, m.Position},
	})
	seen.Tx.SendWithCommit(writing.Unpublish(seen.Tx, m, seen.Snapshot.Count.Floor)...)
	seen.head.RaiseEpoch()
	return deleted, nil
}

// mayDelete refuses a deletion by somebody who neither sent the message nor manages its channel, and one on a closed channel. A
// message that is deleted already may be deleted again.
func mayDelete(seen *Sighting) error {
	viewer, snapshot := seen.Viewer, seen.Snapshot
	switch {
	case seen.Message.Sender != viewer.Agent &&
		!snapshot.Channel.Manages(viewer.Agent, viewer.Operator, snapshot.Access, snapshot.Now):
		return errNotDeletable
	case seen.Message.Deleted():
		return nil
	}
	return seen.RequireOpen()
}

// audited reports whether the intent's log has a copy of the message, or would have one if its channel had been audited from the beginning.
func audited(seen *Sighting) (bool, error) {
	copies := 0
	err := seen.Tx.Pipeline(database.Statement{
		SQL:  "SELECT count(*) FROM events WHERE intent_no = ? AND position = ?",
		Args: []any{seen.Message.IntentNo, seen.Message.Position},
		Scan: func(row database.Row) error { return row.Scan(&copies) },
	})
	return copies > 0 || seen.Channel().Audit, err
}
