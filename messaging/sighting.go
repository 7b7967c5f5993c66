package messaging

import (
	"context"

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
	return s.see(ctx, by, acting, channelID, messageID, listed, do)
}

// SeeLateMessage is SeeMessage for a message whose time may be over: it finds what GetMessage finds.
func (s *Service) SeeLateMessage(ctx context.Context, by caller.Caller, acting, channelID, messageID string, do func(*Sighting) error) error {
	return s.see(ctx, by, acting, channelID, messageID, evenLate, do)
}

// found tells whether the viewer of a sighting finds its message.
type found func(*Sighting) bool

// listed finds what lists show, and what an obligation keeps.
func listed(s *Sighting) bool {
	return s.Message.Ordinal > s.Snapshot.Count.Floor && message.Listed(s.Message, s.Viewer, s.Snapshot.Now) || spared(s)
}

// evenLate also finds messages whose time is over.
func evenLate(s *Sighting) bool {
	return s.Message.Ordinal > s.Snapshot.Count.Floor && message.Visible(s.Message, s.Viewer) || spared(s)
}

// deletable also finds documents that were evicted.
func deletable(s *Sighting) bool {
	c := s.Message.Conversation
	return evenLate(s) || c != nil && c.Document && message.Visible(s.Message, s.Viewer)
}

// answerable also finds requests that were evicted or have expired, as a reply does.
func answerable(s *Sighting) bool {
	return s.Message.Type == message.TypeRequest && message.Visible(s.Message, s.Viewer) || listed(s)
}

func (s *Service) see(
	ctx context.Context, by caller.Caller, acting, channelID, messageID string, finds found, do func(*Sighting) error,
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
		return s.sight(&Sighting{Tx: tx, Snapshot: snapshot, By: by, service: s}, acting, messageID, finds, do)
	})
}

// HoldMessage is SeeMessage under the lock of the intent's head, in a transaction that may change something. The transaction may
// run several times.
func (s *Service) HoldMessage(ctx context.Context, by caller.Caller, acting, channelID, messageID string, do func(*Sighting) error) error {
	return s.hold(ctx, by, acting, channelID, messageID, listed, do)
}

// HoldLateMessage is HoldMessage for a message whose time may be over: it finds what GetMessage finds.
func (s *Service) HoldLateMessage(ctx context.Context, by caller.Caller, acting, channelID, messageID string, do func(*Sighting) error) error {
	return s.hold(ctx, by, acting, channelID, messageID, evenLate, do)
}

// holdDeletable is HoldLateMessage for a deletion. It also finds a document that was evicted, because it may be the content still.
func (s *Service) holdDeletable(ctx context.Context, by caller.Caller, acting, channelID, messageID string, do func(*Sighting) error) error {
	return s.hold(ctx, by, acting, channelID, messageID, deletable, do)
}

// HoldAnswerable is HoldMessage for what concerns the answer to a request. As a reply does, it also finds a request that was
// evicted or that has expired.
func (s *Service) HoldAnswerable(ctx context.Context, by caller.Caller, acting, channelID, messageID string, do func(*Sighting) error) error {
	return s.hold(ctx, by, acting, channelID, messageID, answerable, do)
}

// HoldObligation is HoldMessage for the discharge of an obligation. It also finds a request whose time is over or that was evicted, and
// one that the agent does not see, if it is the delegate.
func (s *Service) HoldObligation(ctx context.Context, by caller.Caller, acting, channelID, messageID string, do func(*Sighting) error) error {
	return s.hold(ctx, by, acting, channelID, messageID, dischargeable, do)
}

func (s *Service) hold(
	ctx context.Context, by caller.Caller, acting, channelID, messageID string, finds found, do func(*Sighting) error,
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
		return s.sight(&Sighting{Tx: tx, Snapshot: snapshot, By: by, service: s, head: head}, acting, messageID, finds, do)
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

// sight finds the message and decides whether the agent may see it.
func (s *Service) sight(seen *Sighting, acting, messageID string, finds found, do func(*Sighting) error) (err error) {
	if seen.Viewer, err = seen.Snapshot.AdmitViewer(seen.By, acting); err != nil {
		return err
	}
	if seen.Message, err = seen.Snapshot.Find(seen.Tx, acting, messageID); err != nil {
		return err
	}
	if seen.Message == nil || !finds(seen) {
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
