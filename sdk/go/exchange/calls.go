package exchange

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
)

// requestOf returns the request of an exchange that means a call; nil for a call that an exchange does not carry.
func requestOf(args any) *openintentv1.NumberedRequest {
	switch request := args.(type) {
	case *openintentv1.SendMessageRequest:
		return &openintentv1.NumberedRequest{Request: &openintentv1.NumberedRequest_Send{Send: request}}
	case *openintentv1.SendMessageByNameRequest:
		return &openintentv1.NumberedRequest{Request: &openintentv1.NumberedRequest_SendByName{SendByName: request}}
	case *openintentv1.ReplyMessageRequest:
		return &openintentv1.NumberedRequest{Request: &openintentv1.NumberedRequest_Reply{Reply: request}}
	case *openintentv1.AskRequest:
		return &openintentv1.NumberedRequest{Request: &openintentv1.NumberedRequest_Ask{Ask: request}}
	case *openintentv1.AddReactionRequest:
		return &openintentv1.NumberedRequest{Request: &openintentv1.NumberedRequest_React{React: request}}
	case *openintentv1.AcknowledgeDeliveriesRequest:
		return &openintentv1.NumberedRequest{Request: &openintentv1.NumberedRequest_Acknowledge{Acknowledge: request}}
	}
	return nil
}

// sending is what the requests that send have in common.
type sending interface {
	GetPayload() *structpb.Struct
	GetMetadata() *structpb.Struct
}

// complete puts into the answer to a send what the client has sent itself, because the server leaves it out. An ask's answer is somebody else's.
func complete(answer *openintentv1.NumberedAnswer, args any) {
	m := answer.GetMessage()
	_, asks := args.(*openintentv1.AskRequest)
	if sent, ok := args.(sending); ok && m != nil && !asks {
		if m.Payload, m.Metadata = sent.GetPayload(), sent.GetMetadata(); m.Payload == nil {
			m.Payload = &structpb.Struct{}
		}
		if m.Metadata == nil {
			m.Metadata = &structpb.Struct{}
		}
	}
}

// responseOf returns the response of the call that an answer is for; nil if the answer is another one's.
func responseOf(answer *openintentv1.NumberedAnswer) proto.Message {
	switch response := answer.GetAnswer().(type) {
	case *openintentv1.NumberedAnswer_Message:
		return response.Message
	case *openintentv1.NumberedAnswer_Reactions:
		return response.Reactions
	case *openintentv1.NumberedAnswer_Subscription:
		return response.Subscription
	}
	return nil
}

// fill moves the fields of a response into the empty one that a generated client has made. It reports whether they are of one type.
func fill(reply any, response proto.Message) bool {
	into, ok := reply.(proto.Message)
	if !ok || response == nil || into.ProtoReflect().Descriptor() != response.ProtoReflect().Descriptor() {
		return false
	}
	target := into.ProtoReflect()
	response.ProtoReflect().Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		target.Set(field, value)
		return true
	})
	return true
}
