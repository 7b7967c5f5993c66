package replay

import (
	"openintent/agents"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/jsonvalue"
	"openintent/messaging/attention"
	"openintent/messaging/message"
)

// recorded is what was read of a log so far, as far as later messages are judged by it.
type recorded struct {
	viewer message.Viewer
	// places number the messages, and wrote are those of the first messages of threads in which the agent wrote.
	places   map[string]int64
	wrote    map[int64]bool
	channels map[string]channel
	// subjects are those of requests with obligations, by id.
	subjects map[string]string
}

// channel has a number that is the same whenever the log is read.
type channel struct {
	no   int64
	name string
}

func newRecorded(agent, role string) *recorded {
	return &recorded{
		viewer: message.Viewer{
			Agent: agent, Presence: agents.Presence{AgentID: agent, RoleID: role, Status: agents.StatusActive},
		},
		places: make(map[string]int64), wrote: make(map[int64]bool),
		channels: make(map[string]channel), subjects: make(map[string]string),
	}
}

// place returns the number of a message. It is the same whenever the log is read.
func (r *recorded) place(id string) int64 {
	place, known := r.places[id]
	if !known {
		place = int64(len(r.places) + 1)
		r.places[id] = place
	}
	return place
}

// read returns a message as the judge knows it.
func (r *recorded) read(delivery *openintentv1.SubscribeResponse) (*message.Message, error) {
	wire := delivery.GetMessage()
	payload, err := jsonvalue.FromStruct(wire.GetPayload(), "payload")
	if err != nil {
		return nil, err
	}
	in, known := r.channels[wire.GetChannelId()]
	if !known {
		in = channel{int64(len(r.channels) + 1), delivery.GetChannelName()}
		r.channels[wire.GetChannelId()] = in
	}
	m := &message.Message{
		ID: wire.GetId(), ChannelNo: in.no, ChannelID: wire.GetChannelId(), Sender: wire.GetSender(), Target: wire.GetTo(),
		Position: r.place(wire.GetId()), Type: message.TypeFrom(wire.GetMessageType(), ""), Payload: payload,
		CreatedAt: wire.GetCreatedAt().AsTime(), CorrelationID: wire.GetCorrelationId(),
	}
	if wire.GetExpiresAt() != nil {
		m.ExpiresAt = wire.GetExpiresAt().AsTime()
	}
	if m.CorrelationID != "" {
		m.CorrelationPosition = r.place(m.CorrelationID)
	}
	if c := r.conversation(wire); !c.Empty() {
		m.Conversation = c
	}
	if m.Sender == caller.System && m.Conversation != nil && m.Conversation.Kind == "obligation_return" {
		m.Conversation.Return = r.reminder(payload)
	}
	if m.Obliges() && m.Conversation.Subject != "" {
		r.subjects[m.ID] = m.Conversation.Subject
	}
	if m.Sender == r.viewer.Agent {
		r.wrote[m.ThreadRoot()] = true
	}
	return m, nil
}

func (r *recorded) conversation(wire *openintentv1.Message) *message.Conversation {
	c := &message.Conversation{
		ParentID: wire.GetParentId(), ThreadID: wire.GetThreadId(), Subject: wire.GetSubject(), Kind: wire.GetKind(),
		Priority: message.PriorityFrom(wire.GetPriority()), Mentions: wire.GetMentions(),
		Directedness: wire.GetDirectedness(), Policy: wire.GetPolicy(), Obligation: message.ObligationFrom(wire.GetObligation()),
		Human: wire.GetSenderKind() == message.SenderHuman,
	}
	if c.ThreadID != "" {
		c.ThreadPosition = r.place(c.ThreadID)
	}
	switch wanted := wire.GetCollect(); {
	case wanted.GetStructValue() != nil:
		quorum := wanted.GetStructValue().GetFields()[string(message.CollectQuorum)].GetNumberValue()
		c.Collect = &message.Collect{Collection: message.CollectQuorum, Quorum: int(quorum)}
	case wanted.GetStringValue() != "":
		c.Collect = &message.Collect{Collection: message.Collection(wanted.GetStringValue())}
	}
	return c
}

// reminder returns what a message of the server reminds of, as it says itself.
func (r *recorded) reminder(payload jsonvalue.Object) *message.Return {
	from, _ := payload.String("from")
	channel, _ := payload.String("channel_id")
	request, _ := payload.String("message_id")
	return &message.Return{
		Position: r.place(request), From: from, ChannelName: r.channels[channel].name, ChannelID: channel, MessageID: request,
	}
}

// judge judges a message as of the moment when it was stored.
func (r *recorded) judge(m *message.Message, rules Rules) *attention.Judgement {
	relation := attention.RelationOf(m, r.viewer)
	relation.WroteInThread = relation.DependsOnThread(m) && r.wrote[m.ThreadRoot()]
	facts := attention.Facts{
		Agent: r.viewer.Agent, Relation: relation, ChannelName: r.channels[m.ChannelID].name,
		Owed: m.Obliges(), Rules: &attention.Rules{DigestedKinds: rules.DigestedKinds},
	}
	if reminder := m.Returns(); reminder != nil {
		facts.Owed, facts.OwedSubject = true, r.subjects[reminder.MessageID]
	}
	return attention.Judge(m, facts, m.CreatedAt)
}
