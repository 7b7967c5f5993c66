package writing

import (
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/internal/fault"
	"openintent/messaging/message"
)

// collectFrom reads how many answers a request wants: "any", "one", "all" or {"quorum": n}. It returns nil when nothing
// or null is given.
func collectFrom(value *structpb.Value) (*message.Collect, error) {
	switch kind := value.GetKind().(type) {
	case nil, *structpb.Value_NullValue:
		return nil, nil
	case *structpb.Value_StringValue:
		switch word := message.Collection(kind.StringValue); word {
		case message.CollectAny, message.CollectOne, message.CollectAll:
			return &message.Collect{Collection: word}, nil
		}
	case *structpb.Value_StructValue:
		number, given := kind.StructValue.GetFields()["quorum"]
		if !given || len(kind.StructValue.GetFields()) != 1 {
			break
		}
		if n, ok := quorumFrom(number); ok {
			return &message.Collect{Collection: message.CollectQuorum, Quorum: n}, nil
		}
		return nil, fault.BadField("collect.quorum", "it must be a whole number from 1 to %d", message.MaxQuorum)
	}
	return nil, fault.BadField("collect", `it must be "any", "one", "all" or {"quorum": n}`)
}

func quorumFrom(value *structpb.Value) (n int, ok bool) {
	number, isNumber := value.GetKind().(*structpb.Value_NumberValue)
	if !isNumber || !(number.NumberValue >= 1 && number.NumberValue <= message.MaxQuorum) {
		return 0, false
	}
	n = int(number.NumberValue)
	return n, float64(n) == number.NumberValue
}

// checkCollect refuses a wish for answers from what is no request, and for several answers from one agent.
func (d *Draft) checkCollect() error {
	switch c := d.given.Collect; {
	case c == nil:
		return nil
	case d.MessageType != message.TypeRequest:
		return fault.BadField("collect", "only a request gathers answers; leave it out or send message_type request")
	case c.Quorum > 1 && message.RoleOf(d.Target) == "":
		return fault.BadField("collect", `one agent gives one answer; ask a role for a quorum of several, or send "one"`)
	}
	return nil
}

// checkFence refuses a fence for what is no response.
func (d *Draft) checkFence() error {
	if d.MessageType != message.TypeResponse && d.fence != 0 {
		return fault.BadField("fence", "only a response comes with one; leave it out or send message_type response")
	}
	return nil
}

// Wanted returns how many answers the draft's request takes, if it takes an exact number; 0 otherwise.
func (d *Draft) Wanted() int {
	return (&message.Message{Type: d.MessageType, Target: d.Target, Conversation: d.given}).ExactAnswers()
}
