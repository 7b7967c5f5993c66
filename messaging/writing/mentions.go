package writing

import (
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"

	"openintent/agents"
	"openintent/channels"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/jsonvalue"
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

// MentionsFrom reads the mentions that a sender gave.
func MentionsFrom(list *structpb.ListValue) ([]string, error) {
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
	var statements []database.Statement
	b.book, statements = prepareBook(b.tx, w.words, w.intentNos)
	return statements
}

// prepareBook returns the statements that read about words in some intents, and the book that they fill.
func prepareBook(tx *database.Tx, words []string, intentNos []int64) (*addressBook, []database.Statement) {
	var names []string
	book := &addressBook{held: make(map[string]struct{}), sent: make(map[audience]struct{})}
	var statements []database.Statement
	for _, word := range words {
		role := message.RoleOf(word)
		if role == "" {
			names = append(names, word)
			continue
		}
		statements = append(statements, agents.PrepareHeld(role, func() { book.held[role] = struct{}{} }))
	}
	if len(names) == 0 {
		return book, statements
	}
	var presences, listings database.Statement
	presences, book.presences = agents.PreparePresences(tx, names)
	listings, book.listed = channels.PrepareListingsIn(tx, intentNos, names)
	inNames, nameArgument := tx.In("name", names)
	inIntents, intentArgument := tx.In("intent_no", intentNos)
	return book, append(statements, presences, listings, database.Statement{
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

// FindMentions returns whom an edited payload mentions, by the same rules as a message that is sent now. The caller holds the lock of
// the intent's head.
func FindMentions(
	tx *database.Tx, head *intents.Head, access *intents.Rules, channel *channels.Rules, by caller.Caller, payload jsonvalue.Object,
) ([]string, error) {
	words := message.WordsWithAt(payload)
	if len(words) == 0 {
		return nil, nil
	}
	book, statements := prepareBook(tx, words, []int64{head.IntentNo})
	if err := tx.Pipeline(statements...); err != nil {
		return nil, err
	}
	s := situation{head: head, access: access, channel: channel, book: book, now: head.Now()}
	return s.mentioned(words, by.Scope), nil
}

// mentioned returns those of the words that name somebody, as far as a sender with the scope may know.
func (s situation) mentioned(words []string, scope *caller.Scope) (mentions []string) {
	if s.book == nil {
		return nil
	}
	for _, word := range words {
		known := s.takesPart
		switch {
		case message.RoleOf(word) != "":
			known = func(word string) bool { return scope.ShowsAllAgents() && s.isHeld(word) }
		case !scope.ShowsAllAgents():
			known = s.isListed
		}
		if known(word) {
			mentions = append(mentions, word)
		}
	}
	return mentions
}

// isHeld reports whether an agent holds the role.
func (s situation) isHeld(word string) bool {
	_, held := s.book.held[message.RoleOf(word)]
	return held
}

// isListed reports whether the channel lists the agent as a member who may take part.
func (s situation) isListed(word string) bool {
	return s.channel.Lists(word, s.book.presences[word].DepartedAt) && s.takesPart(word)
}

// takesPart reports whether what is sent to everyone on the channel comes to the agent's inbox.
func (s situation) takesPart(word string) bool {
	departedAt := s.book.presences[word].DepartedAt
	if !s.channel.Participates(word, false, s.access, departedAt, s.now) {
		return false
	}
	_, sent := s.book.sent[audience{word, s.head.IntentNo, true}]
	listedAt := s.book.listed[channels.Listing{IntentNo: s.head.IntentNo, AgentID: word}]
	return message.TakesPart(sent, listedAt, s.access, word, departedAt, s.now)
}
