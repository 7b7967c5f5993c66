package messaging

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/optional"
	"openintent/messaging/loopbrake"
	"openintent/messaging/message"
	"openintent/messaging/reading"
	"openintent/messaging/writing"
)

// LiftBrake lets agents go on that are braked in a thread, or outside threads.
func (s *Service) LiftBrake(ctx context.Context, req *openintentv1.LiftBrakeRequest) (*openintentv1.LiftBrakeResponse, error) {
	c, err := caller.Known(ctx)
	if err != nil {
		return nil, err
	}
	key, err := s.locate(ctx, req.GetChannelId())
	if err != nil {
		return nil, err
	}
	lifted := &openintentv1.LiftBrakeResponse{ChannelId: req.GetChannelId()}
	err = s.db.Write(ctx, func(tx *database.Tx) error {
		snapshot, head, err := s.reader.LockedSnapshot(tx, key, []string{c.Agent})
		if err != nil {
			return err
		}
		thread, root, err := threadToLift(tx, c, snapshot, req.GetThreadId())
		if err != nil {
			return err
		}
		if snapshot.Closed() {
			return message.ErrChannelClosed
		}
		lifted.ThreadId, lifted.LiftedAt = optional.Text(thread), timestamppb.New(head.Now())
		return writing.LiftBrake(tx, head, key, root)
	})
	if err != nil {
		return nil, err
	}
	return lifted, nil
}

// threadToLift returns the thread whose brake the caller may lift; none for the place outside threads. It refuses whoever may lift nothing
// here before it looks for the thread. A manager of the channel is told of brakes, so it need not see the thread's messages.
func threadToLift(tx *database.Tx, c caller.Caller, snapshot reading.Snapshot, id string) (thread string, root int64, err error) {
	var viewer *message.Viewer
	if err := snapshot.Channel.RequireManager(c, snapshot.Access, snapshot.Now); err != nil {
		if !c.SpeaksAsHuman() || snapshot.Channel.Reserved() {
			return "", 0, err
		}
		person, err := snapshot.AdmitViewer(c, c.Agent)
		if err != nil {
			return "", 0, err
		}
		viewer = &person
	}
	if id == "" {
		return "", 0, nil
	}
	found, err := snapshot.Find(tx, c.Agent, id)
	if err != nil {
		return "", 0, err
	}
	if found == nil || viewer != nil && !viewer.Sees(found, message.Current, snapshot.Count.Floor, snapshot.Now) {
		return "", 0, message.ErrMessageNotFound
	}
	thread, root = found.Thread()
	return thread, root, nil
}

// sweepBrakes removes what was noted of brakes that nobody asks for any more.
func (s *Service) sweepBrakes(ctx context.Context) error {
	before := s.db.Now().Add(-2 * loopbrake.BrakeTime)
	for range sweepBatches {
		var removed int64
		err := s.piecemeal(ctx, func() error {
			return s.db.Write(ctx, func(tx *database.Tx) error {
				return tx.Pipeline(writing.ForgetBrakes(before, sweepBatch, &removed))
			})
		})
		if err != nil {
			return fmt.Errorf("old brakes: %w", err)
		}
		if removed < sweepBatch {
			return nil
		}
	}
	return nil
}
