package writing

import (
	"slices"

	"openintent/channels"
	"openintent/intents"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/messaging/message"
)

// This file holds what the writer does for documents: a channel keeps the newest message of each kind that was sent as a document, whatever
// evicts the others. Other messages ask nothing of it.

// A channel's documents stay when other messages are evicted, so they need bounds of their own.
const (
	// MaxDocuments is how many documents a channel has at most.
	MaxDocuments = 10
	// MaxDocumentsOfOthers is how many it has at most when somebody begins one who does not manage it. So who manages it finds a place.
	MaxDocumentsOfOthers = 6
)

var (
	errDocumentChanged = fault.New(fault.PreconditionFailed, "DOCUMENT_CHANGED",
		"Another message has become the document's content meanwhile; read it, and send yours with its id.")
	errTooManyDocuments = fault.New(fault.Quota, "TOO_MANY_DOCUMENTS",
		"The channel has no place for another document; send the message without being a document, or with the kind of one that there is, "+
			"or delete one first.")
	errDocumentEmpty = fault.BadField("payload", "it is missing; a document's content is its payload, and {} empties it")
)

// StockKind is the kind of documents, of which a key holds those that were begun under it.
var StockKind = intents.StockKind{
	Name: "documents", From: "documents WHERE made_by_key = ?", Freed: "send new contents of those that there are, or delete their channels",
}

// document is where the message is that is a document's content.
type document struct {
	id                string
	position, ordinal int64
}

// documents are those of one channel, by name.
type documents map[string]document

// publishes reports whether the draft is a document.
func (d *Draft) publishes() bool { return d.given != nil && d.given.Document }

// checkDocument decides what of a document the draft alone decides.
func (d *Draft) checkDocument() error {
	switch {
	case !d.publishes() && d.replaces != nil:
		return fault.BadField("replaces", "only a document replaces a message; set document too, or leave it out")
	case !d.publishes():
		return nil
	case d.given.Kind == "":
		return fault.BadField("kind", "it is missing; a document needs it for its name")
	case d.MessageType != message.TypeNotify && d.MessageType != message.TypeBroadcast:
		return fault.BadField("message_type", "a document is a notify or a broadcast")
	case d.payloadMissing:
		return errDocumentEmpty
	case !message.ToEveryone(d.Target):
		return fault.BadField("to", "a document is for everyone; leave it out")
	case !d.ExpiresAt.IsZero():
		return fault.BadField("expires_at", "a document does not expire; leave it out")
	case d.Timeout > 0:
		return fault.BadField("expires_in_seconds", "a document does not expire; leave it out")
	}
	return nil
}

// documentExists reports whether the draft, which is a document, only gives one new content.
func (s situation) documentExists(d *Draft) bool {
	_, exists := s.documents[d.given.Kind]
	return exists
}

// checkReplaced refuses a document that replaces another message than its sender knows of, and one too many.
func (s situation) checkReplaced(d *Draft) error {
	if !d.publishes() {
		return nil
	}
	present, exists := s.documents[d.given.Kind]
	switch {
	case d.replaces != nil && *d.replaces != present.id:
		return errDocumentChanged.With("message_id", present.id)
	case !exists && s.documentsFull(d):
		return errTooManyDocuments
	}
	return nil
}

// documentsFull reports whether there is no place for a document that the draft would begin. Documents that the channel was made with have
// places of their own, which no others take.
func (s situation) documentsFull(d *Draft) bool {
	own := s.channel.OwnDocuments()
	if slices.Contains(own, d.given.Kind) {
		return false
	}
	most := MaxDocuments - len(own)
	if !s.channel.Manages(d.Sender, d.Privileged, s.access, s.now) {
		most = MaxDocumentsOfOthers
	}
	others := 0
	for kind := range s.documents {
		if !slices.Contains(own, kind) {
			others++
		}
	}
	return others >= most
}

// readDocuments returns the statement that reads the documents of the channels for which there is a draft of one.
func (b *batch) readDocuments() []database.Statement {
	var keys []channels.Key
	for _, s := range b.submissions {
		if s.draft.publishes() {
			keys = append(keys, s.draft.Channel)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	keys = channels.DistinctKeys(keys)
	intentNos, channelNos := make([]int64, len(keys)), make([]int64, len(keys))
	b.documents = make(map[channels.Key]documents, len(keys))
	for i, key := range keys {
		intentNos[i], channelNos[i] = key.IntentNo, key.ChannelNo
		b.documents[key] = make(documents)
	}
	in, arguments := b.tx.InRows(
		database.Column{Name: "d.intent_no", Values: intentNos}, database.Column{Name: "d.channel_no", Values: channelNos})
	return []database.Statement{{
		SQL: "SELECT d.intent_no, d.channel_no, d.kind, m.id, m.position, m.ordinal FROM documents d" +
			" JOIN messages m ON m.intent_no = d.intent_no AND m.position = d.position WHERE " + in,
		Args: arguments,
		Scan: func(row database.Row) error {
			var key channels.Key
			var kind string
			var present document
			err := row.Scan(&key.IntentNo, &key.ChannelNo, &kind, &present.id, &present.position, &present.ordinal)
			if err == nil {
				b.documents[key][kind] = present
			}
			return err
		},
	}}
}

// publish makes a message that was just stored under a key the content of its document. The message that was it before may be evicted already; then
// nobody else removes it.
func (b *batch) publish(m *message.Message, keyID string) {
	key, kind := m.Key(), m.Conversation.Kind
	before, existed := b.documents[key][kind]
	b.documents[key][kind] = document{id: m.ID, position: m.Position, ordinal: m.Ordinal}
	published := publishedDocument{key: key, kind: kind, position: m.Position, keyID: keyID}
	if existed && before.ordinal <= b.counts[key].Floor {
		published.replaced = before.position
	}
	b.appender.published = append(b.appender.published, published)
}

// publishedDocument is a new content of a document. replaced is the position of an evicted message that was the content before, which is
// due for removal; 0 for none.
type publishedDocument struct {
	key channels.Key
	// keyID is the key that holds the document if it is a new one.
	keyID              string
	kind               string
	position, replaced int64
}

// Unpublish returns the statements by which a message stops being the content of a document, because its content is deleted. The kind's
// place is free then. If the message is evicted, nothing else holds it any more.
func Unpublish(tx *database.Tx, m *message.Message, floor int64) []database.Statement {
	if m.Conversation == nil || !m.Conversation.Document {
		return nil
	}
	statements := []database.Statement{{
		SQL: "DELETE FROM documents WHERE intent_no = ? AND position = ?", Args: []any{m.IntentNo, m.Position},
	}}
	if m.Ordinal <= floor {
		statements = append(statements, evictedDocument(tx, m.IntentNo, m.Position)...)
	}
	return statements
}

// evictedDocument notes an evicted message that is no document's content any more, which the next run of the sweep removes.
func evictedDocument(tx *database.Tx, intentNo, position int64) []database.Statement {
	return tx.InsertIgnore("evicted_requests",
		database.Column{Name: "intent_no", Values: []int64{intentNo}},
		database.Column{Name: "position", Values: []int64{position}},
		database.Column{Name: "due_at", Values: []int64{0}},
	)
}

type publishedBatch []publishedDocument

func (b publishedBatch) statements(tx *database.Tx) []database.Statement {
	var statements []database.Statement
	for _, d := range b {
		statements = append(statements, database.Statement{
			SQL: "INSERT INTO documents (intent_no, channel_no, kind, position, made_by_key) VALUES (?, ?, ?, ?, ?)" +
				" ON CONFLICT (intent_no, channel_no, kind) DO UPDATE SET position = excluded.position",
			Args: []any{d.key.IntentNo, d.key.ChannelNo, d.kind, d.position, database.NullText(d.keyID)},
		})
		if d.replaced != 0 {
			statements = append(statements, evictedDocument(tx, d.key.IntentNo, d.replaced)...)
		}
	}
	return statements
}
