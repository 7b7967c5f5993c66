package writing

import (
	"math"

	"google.golang.org/protobuf/types/known/structpb"

	"openintent/fault"
	"openintent/messaging/message"
)

// SetCollect reads how many answers a request wants, and the fence with which a response comes.
func (d *Draft) SetCollect(collect *structpb.Value, fence int64) error {
	d.fence = fence
	if collect == nil {
		return nil
	}
	wanted, err := collectFrom(collect)
	if err != nil {
		return err
	}
	d.Conversation = &message.Conversation{Collect: wanted}
	return nil
}

// collectFrom reads how many answers a request wants, as its sender gave it.
func collectFrom(value *structpb.Value) (*message.Collect, error) {
	switch kind := value.GetKind().(type) {
	case *structpb.Value_StringValue:
		switch c := message.Collection(kind.StringValue); c {
		case message.CollectAny, message.CollectOne, message.CollectAll:
			return &message.Collect{Collection: c}, nil
		}
	case *structpb.Value_StructValue:
		fields := kind.StructValue.GetFields()
		n := fields["quorum"].GetNumberValue()
		if len(fields) == 1 && n >= 1 && n <= message.MaxQuorum && n == math.Trunc(n) {
			return &message.Collect{Collection: message.CollectQuorum, Quorum: int(n)}, nil
		}
	}
	return nil, fault.BadField("collect", `it must be "any", "one", "all" or {"quorum": n}, with n from 1 to %d`, message.MaxQuorum)
}

// checkCollect refuses a number of answers for what is no request, and a fence for what is no response.
func (d *Draft) checkCollect() error {
	if d.MessageType != message.TypeRequest && d.Conversation != nil && d.Conversation.Collect != nil {
		return fault.BadField("collect", "only a request wants answers; leave it out or send message_type request")
	}
	if d.MessageType != message.TypeResponse && d.fence != 0 {
		return fault.BadField("fence", "only a response comes with one; leave it out or send message_type response")
	}
	return nil
}

// Wanted returns how many answers the draft's request takes, if it takes an exact number; 0 otherwise.
func (d *Draft) Wanted() int {
	return (&message.Message{Type: d.MessageType, Target: d.Target, Conversation: d.Conversation}).ExactAnswers()
}
