package attention

import (
	"cmp"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging/message"
)

// knock returns what to show of the message without its content. It reads nothing of the payload and the metadata, and shows no words of a
// stranger: not the subject, the kind or the channel's name. The knock of a reminder is that of the request of which it reminds.
func (j *Judgement) knock() *openintentv1.Knock {
	m := j.q.Message
	from, kind, topic, channelID, channelName, id := m.Sender, string(m.Type), topicOf(m, j.q.ChannelName), m.ChannelID, j.q.ChannelName, m.ID
	if reminder := m.Returns(); reminder != nil {
		from, kind, channelID, channelName, id = reminder.From, string(request), reminder.ChannelID, reminder.ChannelName, reminder.MessageID
		topic = cmp.Or(j.q.OwedSubject, kind+" in "+channelName)
	}
	if j.Stranger {
		channelName = channelID
		topic = kind + " in " + channelID
	}
	return &openintentv1.Knock{From: from, Where: channelName, Topic: topic, PullWith: pathOf(channelID, id)}
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
