package messaging

import (
	"context"
	"time"

	"openintent/caller"
	"openintent/channels"
	"openintent/database"
	"openintent/intents"
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

// SeeMessage calls do with a message of a channel as the acting agent sees it. A message that was evicted, or that the agent may
// not see, is refused with MESSAGE_NOT_FOUND.
func (s *Service) SeeMessage(ctx context.Context, by caller.Caller, acting, channelID, messageID string, do func(*Sighting) error) error {
	key, err := s.locate(ctx, channelID)
	if err != nil {
		return err
	}
	return s.db.Read(ctx, func(tx *database.Tx) error {
		snapshot, err := s.reader.Snapshot(tx, key, []string{acting})
		if err != nil {
			return err
		}
		return s.sight(&Sighting{Tx: tx, Snapshot: snapshot, By: by, service: s}, acting, messageID, message.Listed, do)
	})
}

// HoldMessage is SeeMessage under the lock of the intent's head, in a transaction that may change something. The transaction may
// run several times.
func (s *Service) HoldMessage(ctx context.Context, by caller.Caller, acting, channelID, messageID string, do func(*Sighting) error) error {
	return s.holdMessage(ctx, by, acting, channelID, messageID, message.Listed, do)
}

// shown tells whether a viewer is shown a message at a time.
type shown func(m *message.Message, v message.Viewer, now time.Time) bool

// holdMessage is HoldMessage by another rule of who is shown the message.
func (s *Service) holdMessage(
	ctx context.Context, by caller.Caller, acting, channelID, messageID string, shown shown, do func(*Sighting) error,
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
		return s.sight(&Sighting{Tx: tx, Snapshot: snapshot, By: by, service: s, head: head}, acting, messageID, shown, do)
	})
}

// sight finds the message and decides whether the agent may see it.
func (s *Service) sight(seen *Sighting, acting, messageID string, shown shown, do func(*Sighting) error) (err error) {
	if seen.Viewer, err = seen.Snapshot.AdmitViewer(seen.By, acting); err != nil {
		return err
	}
	if seen.Message, err = seen.Snapshot.Find(seen.Tx, acting, messageID); err != nil {
		return err
	}
	m := seen.Message
	if m == nil || m.Ordinal <= seen.Snapshot.Count.Floor || !shown(m, seen.Viewer, seen.Snapshot.Now) {
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

// Annotate stores an annotation of the message, under the intent's lock.
func (s *Sighting) Annotate(annotationType message.AnnotationType, agent string, details message.AnnotationDetails) error {
	m := s.Message
	return writing.Annotate(s.Tx, s.service.hub, s.head, &message.Annotation{
		ChannelNo: m.ChannelNo, ChannelID: m.ChannelID, MessagePosition: m.Position, MessageID: m.ID,
		Type: annotationType, AgentID: agent, Details: details,
	})
}
