package messaging

import (
	"context"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/fault"
	"openintent/internal/jsonvalue"
	"openintent/messaging/message"
	"openintent/messaging/writing"
)

var (
	errNotTheSender = fault.New(fault.Denied, "NOT_THE_SENDER",
		"Only the sender of a message may edit it; send a message of your own instead.")
	errAnswered = fault.New(fault.Conflict, "ANSWERED",
		"The request has an answer; set supersede to edit it nonetheless, and the answer stands.")
)

// edit is what a sender wants of its message's content. What is nil stays as it is.
type edit struct {
	payload, metadata jsonvalue.Object
	subject           *string
	mentions          *[]string
	// supersede is true if the request may have an answer already.
	supersede bool
}

// checkUpdate refuses an update that both marks a message read and edits it, or does neither.
func checkUpdate(req *openintentv1.UpdateMessageRequest) error {
	var given []string
	for _, field := range []struct {
		name  string
		given bool
	}{
		{"payload", req.Payload != nil}, {"subject", req.Subject != nil}, {"mentions", req.Mentions != nil},
		{"metadata", req.Metadata != nil}, {"supersede", req.GetSupersede()},
	} {
		if field.given {
			given = append(given, field.name)
		}
	}
	reads := req.GetStatus() != openintentv1.MessageStatus_MESSAGE_STATUS_UNSPECIFIED
	switch {
	case reads && len(given) > 0:
		return fault.BadField(given[0], "a call marks a message read or edits it; leave it out, or leave status out")
	case !reads && len(given) == 0:
		return fault.BadField("status", "it must be read, unless the call edits payload, subject, mentions or metadata")
	case !reads && given[0] == "supersede":
		return fault.BadField("supersede", "it goes with an edit; give payload, subject, mentions or metadata too")
	}
	return nil
}

// editFrom reads what a call wants to edit.
func editFrom(req *openintentv1.UpdateMessageRequest) (wanted edit, err error) {
	wanted.supersede, wanted.subject = req.GetSupersede(), req.Subject
	if err := writing.CheckLine("subject", req.GetSubject()); err != nil {
		return edit{}, err
	}
	if req.Payload != nil {
		if wanted.payload, err = jsonvalue.FromStruct(req.GetPayload(), "payload"); err != nil {
			return edit{}, err
		}
	}
	if req.Metadata != nil {
		if wanted.metadata, err = jsonvalue.FromStruct(req.GetMetadata(), "metadata"); err != nil {
			return edit{}, err
		}
	}
	if req.Mentions != nil {
		mentions, err := writing.MentionsFrom(req.GetMentions())
		if err != nil {
			return edit{}, err
		}
		wanted.mentions = &mentions
	}
	return wanted, nil
}

// editMessage gives a message of the caller new content. An edit counts in the caller's quota as a message does.
func (s *Service) editMessage(ctx context.Context, req *openintentv1.UpdateMessageRequest) (*openintentv1.Message, error) {
	c, err := caller.Known(ctx)
	if err != nil {
		return nil, err
	}
	acting, err := c.ActAs("agent_id", req.GetAgentId())
	if err != nil {
		return nil, err
	}
	wanted, err := editFrom(req)
	if err != nil {
		return nil, err
	}
	if err := writing.CheckSize(len(wanted.payload), len(wanted.metadata), s.maxPayloadBytes); err != nil {
		return nil, err
	}
	if err := c.Quota.Take(len(wanted.payload) + len(wanted.metadata)); err != nil {
		return nil, err
	}
	var edited *message.Message
	var now time.Time
	err = s.HoldMessage(ctx, c, acting, req.GetChannelId(), req.GetMessageId(), message.Current, func(seen *Sighting) (err error) {
		now = seen.Snapshot.Now
		edited, err = s.edit(seen, wanted)
		return err
	})
	if err != nil {
		return nil, err
	}
	return edited.ToWire(now)
}

// edit decides about an edit under the lock, and stores it. An edit that changes nothing stores nothing.
func (s *Service) edit(seen *Sighting, wanted edit) (*message.Message, error) {
	if err := mayEdit(seen, wanted.supersede); err != nil {
		return nil, err
	}
	before := seen.Message.Revision()
	after := wanted.on(before)
	if err := writing.CheckSize(len(after.Payload), len(after.Metadata), s.maxPayloadBytes); err != nil {
		return nil, err
	}
	if same, err := before.SaysTheSame(after); err != nil || same {
		return seen.Message, err
	}
	bytes := int64(len(after.Payload) + len(after.Metadata))
	if err := s.intents.Usage().Room(seen.Message.IntentNo, bytes, false); err != nil {
		return nil, err
	}
	seen.Tx.AfterCommit(func() { s.intents.Usage().Add(seen.Message.IntentNo, bytes) })
	given := wanted.mentions != nil || seen.Message.MentionsGiven()
	if wanted.payload != nil && !given {
		var err error
		after.Mentions, err = writing.FindMentions(seen.Tx, seen.head, seen.Snapshot.Access, seen.Channel(), seen.By, after.Payload)
		if err != nil {
			return nil, err
		}
	}
	after.Number, after.CreatedAt = before.Number+1, seen.head.Tick()
	edited := seen.Message.Revised(after, given)
	return edited, s.storeRevision(seen, before, edited)
}

// mayEdit refuses an edit by somebody else than the sender, and one that comes too late.
func mayEdit(seen *Sighting, supersede bool) error {
	m, now := seen.Message, seen.Snapshot.Now
	switch {
	case m.Sender != seen.Viewer.Agent:
		return errNotTheSender
	case m.Deleted():
		return message.ErrMessageDeleted.With("message_id", m.ID)
	case seen.Snapshot.Closed():
		return message.ErrChannelClosed
	case m.Expired(now) || m.Type == message.TypeRequest && m.PastExpiry(now):
		return message.ErrMessageExpired.With("message_id", m.ID)
	case m.Answered() && !supersede:
		return errAnswered.With("message_id", m.ID)
	}
	return nil
}

// on returns the content that the edit leaves of a revision. The names in a new text are not looked for yet.
func (e edit) on(after message.Revision) message.Revision {
	if e.payload != nil {
		after.Payload = e.payload
	}
	if e.metadata != nil {
		after.Metadata = e.metadata
	}
	if e.subject != nil {
		after.Subject = *e.subject
	}
	if e.mentions != nil {
		after.Mentions = *e.mentions
	}
	return after
}
