package attention

import (
	"cmp"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging/message"
)

// knockOf returns what to show of a message without its content. It reads nothing of the payload and the metadata.
// The knock of a reminder is that of the request of which it reminds; owed is what that is about.
func knockOf(m *message.Message, channelName, owed string) *openintentv1.Knock {
	if reminder := m.Returns(); reminder != nil {
		return &openintentv1.Knock{
			From: reminder.From, Where: reminder.ChannelName, Topic: cmp.Or(owed, string(request)+" in "+reminder.ChannelName),
			PullWith: pathOf(reminder.ChannelID, reminder.MessageID),
		}
	}
	return &openintentv1.Knock{
		From:     m.Sender,
		Where:    channelName,
		Topic:    topicOf(m, channelName),
		PullWith: pathOf(m.ChannelID, m.ID),
	}
}

func pathOf(channelID, messageID string) string {
	return "/v1/channels/" + channelID + "/messages/" + messageID
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
