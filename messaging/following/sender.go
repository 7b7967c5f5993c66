package following

import (
	"google.golang.org/grpc"

	openintentv1 "openintent/gen/openintent/v1"
)

// sender sends deliveries on one stream.
type sender struct {
	server grpc.ServerStream
	// encodes tells whether the stream goes over the network.
	encodes bool
}

func newSender(server grpc.ServerStream) sender {
	return sender{server, new(grpc.PreparedMsg).Encode(server, &openintentv1.SubscribeResponse{}) == nil}
}

func (s sender) send(d delivery) error {
	form, err := s.form(d)
	if err != nil {
		return err
	}
	return s.server.SendMsg(form)
}

// form returns a delivery in the form that the stream takes. What differs from follower to follower is made for each.
func (s sender) form(d delivery) (form any, err error) {
	switch {
	case d.Encodings == nil || d.backfill || !d.SharesForm():
		return d.response()
	case s.encodes:
		return d.Encodings.OverNetwork(d.Entry, func() (*grpc.PreparedMsg, error) { return s.encode(d) })
	}
	return d.Encodings.InProcess(d.Entry, d.response)
}

func (s sender) encode(d delivery) (*grpc.PreparedMsg, error) {
	response, err := d.response()
	if err != nil {
		return nil, err
	}
	encoded := new(grpc.PreparedMsg)
	if err := encoded.Encode(s.server, response); err != nil {
		return nil, err
	}
	return encoded, nil
}

// response makes the delivery as clients see it.
func (d delivery) response() (*openintentv1.SubscribeResponse, error) {
	if d.caughtUp {
		return &openintentv1.SubscribeResponse{Position: d.position, CaughtUp: true}, nil
	}
	message, event, audit, err := d.ToWire()
	return &openintentv1.SubscribeResponse{
		Position: d.position, IntentId: d.IntentID, ChannelName: d.ChannelName,
		Message: message, Event: event, AuditEvent: audit, Annotation: d.AnnotationToWire(), Attention: d.AttentionToWire(),
		Backfill: d.backfill,
	}, err
}
