package writing

import (
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"

	"openintent/agents"
	"openintent/caller"
	"openintent/channels"
	"openintent/database"
	"openintent/fault"
	"openintent/messaging/message"
)

// This file holds the rules of whom a message mentions. Its sender says so, or the server finds the names in its text
// (message.WordsWithAt). Given mentions are taken as they are. Found words are mentions only if they name somebody.
//
// A mention that is found tells the sender that the name is somebody's. So a name counts only if the sender may know that anyway.
// Agents' records are for everybody to see, and so is who takes part in an intent for those who may read it: whoever sends a
// broadcast can list to whom it came. A guest, and a key for channels alone, sees neither; for them only the members that the
// channel lists count.

// wordSize is what a word that may be a mention counts for in the queue, beside its text: it takes a look at the database.
const wordSize = 512

// mentionsFrom reads the mentions that a sender gave.
func mentionsFrom(list *structpb.ListValue) ([]string, error) {
	if len(list.GetValues()) > message.MaxMentions {
		return nil, fault.BadField("mentions", "at most %d can be mentioned", message.MaxMentions)
	}
	seen := make(map[string]struct{}, len(list.GetValues()))
	var names []string
	for i, value := range list.GetValues() {
		field := fmt.Sprintf("mentions[%d]", i)
		name, ok := value.GetKind().(*structpb.Value_StringValue)
		if !ok {
			return nil, fault.BadField(field, "it must be a string: an agent's name or role:<role_id>")
		}
		if err := checkMention(field, name.StringValue); err != nil {
			return nil, err
		}
		if _, twice := seen[name.StringValue]; twice {
			return nil, fault.BadField(field, "it is in the list already; give each name once")
		}
		seen[name.StringValue] = struct{}{}
		names = append(names, name.StringValue)
	}
	return names, nil
}

// checkMention refuses a name that neither an agent nor a role can have.
func checkMention(field, name string) error {
	switch role := message.RoleOf(name); {
	case name == caller.RolePrefix:
		return fault.BadField(field, "a role address is role:<role_id>, with the role's id after the colon")
	case role != "":
		return agents.CheckRole(field, role)
	}
	return caller.CheckName(field, name)
}

// addressBook is what the database says of the names that drafts may mention.
type addressBook struct {
	presences map[string]agents.Presence
	// held are the roles that somebody holds. listed says when a channel of an intent last began to list an agent; sent says who
	// has sent in an intent.
	held   map[string]struct{}
	listed channels.Listings
	sent   map[audience]struct{}
}

// readMentioned returns the statements that read about the words of the drafts, and notes where they put it. There are none if no
// draft has such a word.
func (b *batch) readMentioned(w wants) []database.Statement {
	if len(w.words) == 0 {
		return nil
	}
	var names []string
	book := &addressBook{held: make(map[string]struct{}), sent: make(map[audience]struct{})}
	b.book = book
	var statements []database.Statement
	for _, word := range w.words {
		role := message.RoleOf(word)
		if role == "" {
			names = append(names, word)
			continue
		}
		statements = append(statements, agents.PrepareHeld(role, func() { book.held[role] = struct{}{} }))
	}
	if len(names) == 0 {
		return statements
	}
	var presences, listings database.Statement
	presences, book.presences = agents.PreparePresences(b.tx, names)
	listings, book.listed = channels.PrepareListingsIn(b.tx, w.intentNos, names)
	inNames, nameArgument := b.tx.In("name", names)
	inIntents, intentArgument := b.tx.In("intent_no", w.intentNos)
	return append(statements, presences, listings, database.Statement{
		SQL:  "SELECT name, intent_no FROM audiences WHERE " + inNames + " AND " + inIntents + " AND sent",
		Args: []any{nameArgument, intentArgument},
		Scan: func(row database.Row) error {
			one := audience{sent: true}
			err := row.Scan(&one.name, &one.intentNo)
			book.sent[one] = struct{}{}
			return err
		},
	})
}

// mentioned returns those of the draft's words that name somebody.
func (s situation) mentioned(d *Draft) (mentions []string) {
	for _, word := range d.words {
		known := s.takesPart
		switch {
		case message.RoleOf(word) != "":
			known = s.isHeld
		case !d.By.Scope.ShowsAllAgents():
			known = s.isListed
		}
		if s.book != nil && known(d, word) {
			mentions = append(mentions, word)
		}
	}
	return mentions
}

// isHeld tells whether an agent holds the role, and whether the sender may know that.
func (s situation) isHeld(d *Draft, word string) bool {
	_, held := s.book.held[message.RoleOf(word)]
	return held && d.By.Scope.ShowsAllAgents()
}

// isListed tells whether the channel lists the agent as a member who may take part.
func (s situation) isListed(d *Draft, word string) bool {
	return s.channel.Lists(word, s.book.presences[word].DepartedAt) && s.takesPart(d, word)
}

// takesPart tells whether what is sent to everyone on the channel comes to the agent's inbox.
func (s situation) takesPart(_ *Draft, word string) bool {
	departedAt := s.book.presences[word].DepartedAt
	if !s.channel.Participates(word, false, s.access, departedAt, s.now) {
		return false
	}
	_, sent := s.book.sent[audience{word, s.head.IntentNo, true}]
	listedAt := s.book.listed[channels.Listing{IntentNo: s.head.IntentNo, AgentID: word}]
	return message.TakesPart(sent, listedAt, s.access, word, departedAt, s.now)
}
