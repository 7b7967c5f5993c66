package conversation

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/optional"
	"openintent/messaging"
	"openintent/messaging/message"
	"openintent/messaging/obligation"
)

// DischargeObligation closes an obligation. It does not matter whether the request's time is over, or the channel closed: the discharge
// says that nobody waits any more.
func (s *Service) DischargeObligation(
	ctx context.Context, req *openintentv1.DischargeObligationRequest,
) (*openintentv1.Discharge, error) {
	c, err := caller.Known(ctx)
	if err != nil {
		return nil, err
	}
	if err := caller.CheckText("note", req.GetNote()); err != nil {
		return nil, err
	}
	var o *obligation.Obligation
	err = s.messaging.HoldMessage(ctx, c, c.Agent, req.GetChannelId(), req.GetMessageId(), message.Dischargeable, func(seen *messaging.Sighting) (err error) {
		if o, err = obligation.Of(seen.Tx, seen.Message.IntentNo, seen.Message.Position); err != nil {
			return err
		}
		switch {
		case o == nil:
			return obligation.ErrNone
		case !o.MayDischarge(c.Agent, seen.Viewer.Operator):
			return obligation.ErrNotYours
		case !o.Open():
			return nil
		}
		return seen.Discharge(o, c.Agent, req.GetNote())
	})
	if err != nil {
		return nil, err
	}
	return &openintentv1.Discharge{
		MessageId: o.MessageID, AgentId: o.By, Note: optional.Text(o.Note), DischargedAt: timestamppb.New(o.At),
	}, nil
}

// ListObligations lists open obligations of an agent.
func (s *Service) ListObligations(
	ctx context.Context, req *openintentv1.ListObligationsRequest,
) (*openintentv1.ListObligationsResponse, error) {
	return s.messaging.ListObligations(ctx, req)
}

// hear takes a signal that the viewer has set on a message. It concerns the message's obligation if the viewer owes it.
func (s *Service) hear(seen *messaging.Sighting, signal string) error {
	o, err := owedByViewer(seen)
	if err != nil || o == nil {
		return err
	}
	before := *o
	if o.Hear(signal, seen.Head().LastAt, seen.Head().Now()) == obligation.TellCoordinator {
		if err := s.tell(seen, o, obligation.TellCoordinator, told{event: "obligation_" + signal, by: seen.Viewer.Agent}); err != nil {
			return err
		}
	}
	if *o == before {
		return nil
	}
	return obligation.Save(seen.Tx, o)
}

// unhear takes back what followed from a signal that the viewer has removed: the pause after unclear.
func (s *Service) unhear(seen *messaging.Sighting, signal string) error {
	if signal != "unclear" {
		return nil
	}
	o, err := owedByViewer(seen)
	if err != nil || o == nil || !o.Paused() {
		return err
	}
	o.Resume(seen.Head().Now())
	return obligation.Save(seen.Tx, o)
}

// owedByViewer returns the message's obligation if it is open and the viewer owes it; otherwise nil.
func owedByViewer(seen *messaging.Sighting) (*obligation.Obligation, error) {
	if !seen.Message.Obliges() || !seen.Viewer.Receives(seen.Message) {
		return nil, nil
	}
	o, err := obligation.Of(seen.Tx, seen.Message.IntentNo, seen.Message.Position)
	if err != nil || o == nil || !o.Open() {
		return nil, err
	}
	return o, nil
}
