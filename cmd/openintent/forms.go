package main

import (
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

// messageOf converts the SDK's message to the contract's form, in which commands print it.
func messageOf(m *openintent.Message) (*openintentv1.Message, error) {
	payload, err := structpb.NewStruct(m.Payload)
	if err != nil {
		return nil, err
	}
	metadata, err := structpb.NewStruct(m.Metadata)
	if err != nil {
		return nil, err
	}
	converted := &openintentv1.Message{
		Id: m.ID, ChannelId: m.ChannelID, Sender: m.Sender, SenderKind: present(m.SenderKind), To: present(m.To), CorrelationId: present(m.CorrelationID),
		MessageType: openintentv1.MessageType(number(openintentv1.MessageType_value, "MESSAGE_TYPE_", string(m.MessageType))),
		Status:      openintentv1.MessageStatus(number(openintentv1.MessageStatus_value, "MESSAGE_STATUS_", string(m.Status))),
		Payload:     payload, Metadata: metadata,
		CreatedAt: stamp(m.CreatedAt), ExpiresAt: stamp(m.ExpiresAt), ReadAt: stamp(m.ReadAt),
		ParentId: present(m.ParentID), ThreadId: present(m.ThreadID), Subject: present(m.Subject), Kind: present(m.Kind),
		TaskId: present(m.TaskID), Mentions: m.Mentions, EditedAt: stamp(m.EditedAt), DeletedAt: stamp(m.DeletedAt),
		Collect: m.Collect.Value(),
	}
	if o := m.Obligation; o != nil {
		blocks := openintentv1.Blocks(number(openintentv1.Blocks_value, "BLOCKS_", string(o.Blocks)))
		converted.Obligation = &openintentv1.Obligation{Blocks: blocks, Delegate: present(o.Delegate)}
	}
	if n := number(openintentv1.Priority_value, "PRIORITY_", string(m.Priority)); n != 0 {
		converted.Priority = openintentv1.Priority(n).Enum()
	}
	if n := number(openintentv1.Directedness_value, "DIRECTEDNESS_", string(m.Directedness)); n != 0 {
		converted.Directedness = openintentv1.Directedness(n).Enum()
	}
	if n := number(openintentv1.ResponsePolicy_value, "RESPONSE_POLICY_", string(m.Policy)); n != 0 {
		converted.Policy = openintentv1.ResponsePolicy(n).Enum()
	}
	if m.Document {
		converted.Document = &m.Document
	}
	if m.Revision != 0 {
		revision := int32(m.Revision)
		converted.Revision = &revision
	}
	return converted, nil
}

// number returns the number of an enum's word; 0 for an unknown word.
func number(numbers map[string]int32, prefix, word string) int32 {
	return numbers[prefix+strings.ToUpper(word)]
}

// messageType returns the number of a type's word; nil for no word, so that the field is left out.
func messageType(word string) *openintentv1.MessageType {
	if word == "" {
		return nil
	}
	return openintentv1.MessageType(number(openintentv1.MessageType_value, "MESSAGE_TYPE_", word)).Enum()
}

func present(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func stamp(at time.Time) *timestamppb.Timestamp {
	if at.IsZero() {
		return nil
	}
	return timestamppb.New(at)
}
