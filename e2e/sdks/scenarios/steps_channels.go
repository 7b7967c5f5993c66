package scenarios

import (
	"iter"
	"maps"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

// stepsOnChannels are the steps on a channel, a message or the list of channels.
var stepsOnChannels = map[string]func(s *story, a act, f facts) (any, error){
	"create_channel": func(s *story, a act, f facts) (any, error) {
		channel, err := s.client(a.who).CreateChannel(s.ctx, s.intent, f.Channel, f.channelOptions())
		return s.opened(f.Channel, channel, err)
	},
	"open": func(s *story, a act, f facts) (any, error) {
		channel, err := s.client(a.who).Open(s.ctx, s.intent, f.Channel, f.channelOptions())
		return s.opened(f.Channel, channel, err)
	},
	"open_intent": func(s *story, a act, f facts) (any, error) {
		intent, err := s.client(a.who).OpenIntent(s.ctx, openintent.IntentOptions{Title: f.Title})
		if err != nil {
			return nil, err
		}
		return map[string]any{"id": intent.ID, "title": intent.Title, "status": string(intent.Status), "created_by": intent.CreatedBy}, nil
	},
	"close_channel": onChannel(func(s *story, c *openintent.Client, id string, _ facts) (any, error) {
		return channelResult(c.CloseChannel(s.ctx, id))
	}),
	"get_channel": onChannel(func(s *story, c *openintent.Client, id string, _ facts) (any, error) {
		return channelResult(c.GetChannel(s.ctx, id))
	}),
	"list_channels": func(s *story, a act, _ facts) (any, error) {
		channels, err := s.client(a.who).ListChannels(s.ctx, s.intent)
		list := make([]any, len(channels))
		for i, channel := range channels {
			list[i] = describeChannel(channel)
		}
		return list, err
	},
	"remove_member": onChannel(func(s *story, c *openintent.Client, id string, f facts) (any, error) {
		_, err := c.Raw().Channels.RemoveChannelMember(s.ctx, &openintentv1.RemoveChannelMemberRequest{
			ChannelId: id, AgentId: f.Agent.Value,
		})
		if err != nil {
			return nil, openintent.FromError(err)
		}
		return channelResult(c.GetChannel(s.ctx, id))
	}),
	"send":      sending(""),
	"notify":    sending(openintent.Notify),
	"broadcast": sending(openintent.Broadcast),
	"ask": onChannel(func(s *story, c *openintent.Client, id string, f facts) (any, error) {
		return messageResult(c.Ask(s.ctx, id, f.question()))
	}),
	"ask_all": onChannel(func(s *story, c *openintent.Client, id string, f facts) (any, error) {
		return listResult(c.AskAll(s.ctx, id, f.question()))
	}),
	"ask_all_iter": onChannel(func(s *story, c *openintent.Client, id string, f facts) (any, error) {
		return listResult(collect(c.AskAllIter(s.ctx, id, f.question())))
	}),
	"resume_ask": onChannel(func(s *story, c *openintent.Client, id string, f facts) (any, error) {
		return messageResult(c.ResumeAsk(s.ctx, id, f.Message, seconds(f.Timeout)))
	}),
	"reply": onChannel(func(s *story, c *openintent.Client, id string, f facts) (any, error) {
		return messageResult(c.ReplyTo(s.ctx, id, f.Message, openintent.Reply{
			Payload: f.Payload, Metadata: f.Metadata, Fence: f.Fence, Conversation: f.conversation(),
		}))
	}),
	"list_messages": onChannel(func(s *story, c *openintent.Client, id string, f facts) (any, error) {
		return listResult(c.ListMessages(s.ctx, id, openintent.Selection{
			Since: f.Since, To: f.To, Limit: f.Limit, MessageType: openintent.MessageType(f.MessageType),
			ThreadID: f.ThreadID,
		}))
	}),
	"get_message": onChannel(func(s *story, c *openintent.Client, id string, f facts) (any, error) {
		return messageResult(c.GetMessage(s.ctx, id, f.Message))
	}),
	"mark_read": onChannel(func(s *story, c *openintent.Client, id string, f facts) (any, error) {
		return messageResult(c.MarkRead(s.ctx, id, f.Message))
	}),
	"follow": func(s *story, a act, f facts) (any, error) {
		id, err := s.channel(a.who, f.Channel)
		if err != nil {
			return nil, err
		}
		channel, err := s.client(a.who).GetChannel(s.ctx, id)
		if err != nil {
			return nil, err
		}
		return nil, s.follow(a.save, channel)
	},
}

// onChannel opens the channel for the acting agent.
func onChannel(
	do func(s *story, c *openintent.Client, id string, f facts) (any, error),
) func(s *story, a act, f facts) (any, error) {
	return func(s *story, a act, f facts) (any, error) {
		id, err := s.channel(a.who, f.Channel)
		if err != nil {
			return nil, err
		}
		return do(s, s.client(a.who), id, f)
	}
}

// channel returns the id of a channel by its name; it opens the channel at the first use of the name.
func (s *story) channel(who, name string) (string, error) {
	s.mutex.Lock()
	id := s.channels[name]
	s.mutex.Unlock()
	if id != "" {
		return id, nil
	}
	channel, err := s.client(who).Open(s.ctx, s.intent, name, openintent.ChannelOptions{})
	if err != nil {
		return "", err
	}
	_, err = s.opened(name, channel, nil)
	return channel.ID, err
}

func (s *story) opened(name string, channel *openintent.Channel, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.channels[name] = channel.ID
	return describeChannel(channel), nil
}

func sending(kind openintent.MessageType) func(s *story, a act, f facts) (any, error) {
	return onChannel(func(s *story, c *openintent.Client, id string, f facts) (any, error) {
		draft := openintent.Draft{
			To: f.To, Payload: f.Payload, MessageType: kind, Metadata: f.Metadata, Sender: f.Sender,
			Conversation: f.conversation(),
		}
		if kind == "" {
			draft.MessageType = openintent.MessageType(f.MessageType)
		}
		if f.ExpiresIn != 0 {
			draft.ExpiresAt = time.Now().Add(seconds(f.ExpiresIn))
		}
		return messageResult(c.SendMessage(s.ctx, id, draft))
	})
}

func (f facts) channelOptions() openintent.ChannelOptions {
	return openintent.ChannelOptions{
		Members: f.Members, MemberPolicy: openintent.MemberPolicy(f.MemberPolicy), Audit: f.Options.Audit,
		TTL: time.Duration(f.Options.TTLSeconds) * time.Second, MaxMessages: f.Options.MaxMessages, TurnBudget: f.Options.TurnBudget,
		ConversationBudget: f.Options.Crowd,
	}
}

func (f facts) question() openintent.Question {
	return openintent.Question{
		To: f.To, Payload: f.Payload, Timeout: seconds(f.Timeout), MinResponses: f.MinResponses, Metadata: f.Metadata,
		FailFast: f.FailFast, Conversation: f.conversation(),
	}
}

func collect(responses iter.Seq2[*openintent.Message, error]) (list []*openintent.Message, err error) {
	for response, err := range responses {
		if err != nil {
			return nil, err
		}
		list = append(list, response)
	}
	return list, nil
}

func messageResult(message *openintent.Message, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return messageFacts(message), nil
}

func listResult(messages []*openintent.Message, err error) (any, error) {
	list := make([]any, len(messages))
	for i, message := range messages {
		list[i] = messageFacts(message)
	}
	return list, err
}

func channelResult(channel *openintent.Channel, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return describeChannel(channel), nil
}

// messageFacts returns a message with the member names of the wire's JSON.
func messageFacts(m *openintent.Message) map[string]any {
	facts := map[string]any{
		"id": m.ID, "channel_id": m.ChannelID, "sender": m.Sender, "to": orNil(m.To), "message_type": string(m.MessageType),
		"correlation_id": orNil(m.CorrelationID), "payload": m.Payload, "metadata": m.Metadata, "status": string(m.Status),
		"created_at": timeOrNil(m.CreatedAt), "expires_at": timeOrNil(m.ExpiresAt), "read_at": timeOrNil(m.ReadAt),
	}
	maps.Copy(facts, conversationFactsOf(m))
	return facts
}

func describeChannel(c *openintent.Channel) map[string]any {
	members := make([]any, len(c.Members))
	for i, member := range c.Members {
		members[i] = member
	}
	return map[string]any{
		"id": c.ID, "intent_id": c.IntentID, "task_id": orNil(c.TaskID), "name": c.Name, "created_by": c.CreatedBy,
		"members": members, "member_policy": string(c.MemberPolicy), "status": string(c.Status),
		"message_count": c.MessageCount, "created_at": timeOrNil(c.CreatedAt), "closed_at": timeOrNil(c.ClosedAt),
		"options": map[string]any{"audit": c.Audit, "max_messages": c.MaxMessages, "turn_budget": c.TurnBudget, "conversation_budget": numberOrNil(c.ConversationBudget)},
	}
}

func numberOrNil(number *int64) any {
	if number == nil {
		return nil
	}
	return *number
}

func orNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func timeOrNil(at time.Time) any {
	if at.IsZero() {
		return nil
	}
	return at.UTC().Format(time.RFC3339Nano)
}
