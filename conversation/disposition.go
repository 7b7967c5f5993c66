package conversation

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/fault"
	"openintent/internal/optional"
	"openintent/messaging"
	"openintent/messaging/message"
)

// dispositionDeferred is the only disposition that has an end.
const dispositionDeferred = "deferred"

var errNotARecipient = fault.New(fault.Denied, "NOT_A_RECIPIENT",
	"Only a recipient of the message says what it did with it; the caller is its sender, or sees it without being a recipient.")

// SetDisposition stores what the caller did with a message that it received. It does not matter whether the message's time is over,
// or the channel closed: the disposition says what became of what is there.
func (s *Service) SetDisposition(
	ctx context.Context, req *openintentv1.SetDispositionRequest,
) (*openintentv1.MessageDisposition, error) {
	c, err := caller.Known(ctx)
	if err != nil {
		return nil, err
	}
	if err := caller.CheckText("reason", req.GetReason()); err != nil {
		return nil, err
	}
	if req.GetUntil() != nil && req.GetDisposition() != dispositionDeferred {
		return nil, fault.BadField("until", "only a deferred message has it; leave it out")
	}
	until, err := optional.TimeFrom("until", req.GetUntil())
	if err != nil {
		return nil, err
	}
	said := messaging.Disposition{Word: req.GetDisposition(), Reason: req.GetReason(), Until: until}
	var d messaging.Disposition
	err = s.messaging.HoldMessage(ctx, c, c.Agent, req.GetChannelId(), req.GetMessageId(), message.ByID, func(seen *messaging.Sighting) (err error) {
		if !seen.Viewer.Receives(seen.Message) {
			return errNotARecipient
		}
		d, err = seen.SetDisposition(said)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &openintentv1.MessageDisposition{
		MessageId: req.GetMessageId(), AgentId: c.Agent, Disposition: d.Word, Reason: optional.Text(d.Reason),
		Until: optional.Time(d.Until), DisposedAt: timestamppb.New(d.At),
	}, nil
}
