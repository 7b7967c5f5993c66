package attention

import (
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging/message"
)

// knockOf returns what to show of a message without its content. It reads nothing of the payload and the metadata.
func knockOf(m *message.Message, channelName string) *openintentv1.Knock {
	return &openintentv1.Knock{
		From:     m.Sender,
		Where:    channelName,
		Topic:    topicOf(m, channelName),
		PullWith: "/v1/channels/" + m.ChannelID + "/messages/" + m.ID,
	}
}

// topicOf returns the subject or, if there is none, the kind and the channel's name. A message without a kind has its type there.
func topicOf(m *message.Message, channelName string) string {
	kind := string(m.Type)
	if c := m.Conversation; c != nil {
		if c.Subject != "" {
			return c.Subject
		}
		if c.Kind != "" {
			kind = c.Kind
		}
	}
	return kind + " in " + channelName
}
