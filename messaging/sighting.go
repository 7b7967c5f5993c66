package messaging

import (
	"context"

	"openintent/channels"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/message"
	"openintent/messaging/reading"
	"openintent/messaging/writing"
)

// Sighting is one message as one agent sees it at one moment. The room above decides by it what the agent may do with the
// message (see SeeMessage and HoldMessage).
type Sighting struct {
	Tx       *database.Tx
	Snapshot reading.Snapshot
	By       caller.Caller
	Viewer   message.Viewer
	Message  *message.Message

	service *Service
	head    *intents.Head // nil unless the intent's lock is held
}

// SeeMessage calls do with a message of a channel as the acting agent sees it. A message that the agent does not see for the purpose is
// refused with MESSAGE_NOT_FOUND.
func (s *Service) SeeMessage(
	ctx context.Context, by caller.Caller, acting, channelID, messageID string, as message.Purpose, do func(*Sighting) error,
) error {
	key, err := s.locate(ctx, channelID)
	if err != nil {
		return err
	}
	return s.db.ReadFor(ctx, by.Reader(), func(tx *database.Tx) error {
		snapshot, err := s.reader.Snapshot(tx, key, []string{acting})
		if err != nil {
			return err
		}
		return s.sight(&Sighting{Tx: tx, Snapshot: snapshot, By: by, service: s}, acting, messageID, as, do)
	})
}

// HoldMessage is SeeMessage under the lock of the intent's head, in a transaction that may change something. The transaction may
// run several times.
func (s *Service) HoldMessage(
	ctx context.Context, by caller.Caller, acting, channelID, messageID string, as message.Purpose, do func(*Sighting) error,
) error {
	key, err := s.locate(ctx, channelID)
	if err != nil {
		return err
	}
	return s.db.Write(ctx, func(tx *database.Tx) error {
		snapshot, head, err := s.reader.LockedSnapshot(tx, key, []string{acting})
		if err != nil {
			return err
		}
		return s.sight(&Sighting{Tx: tx, Snapshot: snapshot, By: by, service: s, head: head}, acting, messageID, as, do)
	})
}

// HoldForServer calls do with the message at a place of a channel, for work that the server does by itself. There is no viewer, and
// the message is nil if it was removed.
func (s *Service) HoldForServer(ctx context.Context, key channels.Key, position int64, do func(*Sighting) error) error {
	return s.db.Write(ctx, func(tx *database.Tx) error {
		snapshot, head, err := s.reader.LockedSnapshot(tx, key, nil)
		if err != nil {
			return err
		}
		seen := &Sighting{Tx: tx, Snapshot: snapshot, service: s, head: head}
		if seen.Message, err = snapshot.FindAt(tx, "", position); err != nil {
			return err
		}
		return do(seen)
	})
}

// sight finds the message, if the agent sees it.
func (s *Service) sight(seen *Sighting, acting, messageID string, as message.Purpose, do func(*Sighting) error) (err error) {
	if seen.Viewer, err = seen.Snapshot.AdmitViewer(seen.By, acting); err != nil {
		return err
	}
	if seen.Message, err = seen.Snapshot.Find(seen.Tx, acting, messageID); err != nil {
		return err
	}
	if !seen.Viewer.Sees(seen.Message, as, seen.Snapshot.Count.Floor, seen.Snapshot.Now) {
		return message.ErrMessageNotFound
	}
	return do(seen)
}

// Channel returns the message's channel.
func (s *Sighting) Channel() *channels.Rules { return s.Snapshot.Channel }

// Head returns the intent's head, whose lock the transaction holds.
func (s *Sighting) Head() *intents.Head { return s.head }

// RequireOpen refuses when the channel is closed or its intent has ended.
func (s *Sighting) RequireOpen() error {
	if s.Snapshot.Closed() {
		return message.ErrChannelClosed
	}
	return nil
}

// Notify tells agents something in the server's name, in the channel _system of the intent (Service.Notify).
func (s *Sighting) Notify(notices ...writing.Notice) error {
	return s.service.Notify(s.Tx, s.head, notices...)
}

// Annotate stores an annotation of the message, under the intent's lock.
func (s *Sighting) Annotate(annotationType message.AnnotationType, agent string, details message.AnnotationDetails) error {
	m := s.Message
	return writing.Annotate(s.Tx, s.service.hub, s.head, &message.Annotation{
		ChannelNo: m.ChannelNo, ChannelID: m.ChannelID, MessagePosition: m.Position, MessageID: m.ID,
		Type: annotationType, AgentID: agent, Details: details,
	})
}
