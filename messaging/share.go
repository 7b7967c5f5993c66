package messaging

import (
	"sync"

	"google.golang.org/grpc"

	openintentv1 "openintent/gen/openintent/v1"
)

// forms are an item's delivery as streams send it. The followers of a scope share the items that its tail reads, and with
// them these: the first to send one makes it, for as long as the message's status stays.
type forms struct {
	mutex  sync.Mutex
	status Status
	// encoded is for streams over the network, plain for those within the process. Neither is ever changed.
	encoded *grpc.PreparedMsg
	plain   *openintentv1.SubscribeResponse
}

// judged drops the forms when the message's status is another one by now.
func (f *forms) judged(e Entry) {
	if e.Message == nil {
		return
	}
	if status := e.Message.Status(e.Now); f.status != status {
		f.status, f.encoded, f.plain = status, nil, nil
	}
}

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

// form gives what the stream takes for a delivery. What is not the same for all followers is made for each.
func (s sender) form(d delivery) (form any, err error) {
	if d.forms == nil || d.backfill {
		return d.response()
	}
	d.forms.mutex.Lock()
	defer d.forms.mutex.Unlock()
	d.forms.judged(d.Entry)
	if !s.encodes {
		if d.forms.plain == nil {
			d.forms.plain, err = d.response()
		}
		return d.forms.plain, err
	}
	if d.forms.encoded == nil {
		d.forms.encoded, err = s.encode(d)
	}
	return d.forms.encoded, err
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
		Message: message, Event: event, AuditEvent: audit, Backfill: d.backfill,
	}, err
}
