package messaging

import (
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/agents"
	"openintent/caller"
	"openintent/fault"
	"openintent/jsonvalue"
	"openintent/messaging/message"
)

// mentionsFrom reads the mentions that a sender gives: agents and role addresses, each once, in the order given.
func mentionsFrom(given *structpb.ListValue) ([]string, error) {
	if len(given.GetValues()) > message.MaxMentions {
		return nil, fault.BadField("mentions", "a message mentions at most %d agents and roles", message.MaxMentions)
	}
	names := []string{}
	for _, value := range given.GetValues() {
		text, ok := value.GetKind().(*structpb.Value_StringValue)
		if !ok {
			return nil, fault.BadField("mentions", "it must be a list of agents' ids and of role:<role_id>, as strings")
		}
		name := text.StringValue
		err := caller.CheckName("mentions", name)
		if role := message.RoleOf(name); role != "" {
			err = agents.CheckRole("mentions", role)
		}
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return firstOfEach(names), nil
}

// mentionsFound returns the mentions that the server finds in an edited message's text. It is the one place where edits call the
// finder that sending uses.
func mentionsFound(*Sighting, jsonvalue.Object) []string { return nil }
