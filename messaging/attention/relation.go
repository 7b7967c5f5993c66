package attention

import "openintent/messaging/message"

// Relation is what a message and its thread have to do with one recipient. Relations can be compared.
type Relation struct {
	// Addressed is true when the message is sent to the agent, ByRole when it is sent to its role.
	Addressed, ByRole bool
	// Mentioned is true when the message mentions the agent, RoleMentioned when it mentions its role.
	Mentioned, RoleMentioned bool
	// WroteInThread is true when the message is a reply in a thread in which the agent wrote.
	WroteInThread bool
}

// RelationOf returns the relation of a message to a recipient. It does not know who wrote in the thread.
func RelationOf(m *message.Message, v message.Viewer) (r Relation) {
	r.Addressed = message.IsAgent(m.Target)
	r.ByRole = message.RoleOf(m.Target) != ""
	if m.Conversation == nil {
		return r
	}
	for _, name := range m.Conversation.Mentions {
		switch role := message.RoleOf(name); {
		case role == "":
			r.Mentioned = r.Mentioned || name == v.Agent
		case v.Presence.HoldsRole(role):
			r.RoleMentioned = true
		}
	}
	return r
}

// DependsOnThread reports whether it matters for the judgement of a message if the recipient wrote in its thread.
func (r Relation) DependsOnThread(m *message.Message) bool {
	return m.ThreadRoot() != m.Position && m.Type != message.TypeResponse && r == Relation{}
}
