package writing

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"hash"
	"time"

	"openintent/intents"
	"openintent/internal/database"
	"openintent/internal/jsonvalue"
	"openintent/messaging/message"
)

// KeyLifetime is how long an idempotency key holds.
//
// A message that comes again under the same key is not stored again: its sender gets the message that was stored first. A
// key is unique for one sender in one channel, and a different message under the same key is refused. batch.place decides
// whether a key still holds, and that alone counts; the sweep (messaging/sweep.go, sweepKeys) only removes the rows of keys
// that hold no more.
const KeyLifetime = 24 * time.Hour

// keyPlace is where an idempotency key is unique.
type keyPlace struct {
	intentNo           int64
	sender, scope, key string
}

// keyRecord is what the database keeps of the message that was first sent under a key.
type keyRecord struct {
	fingerprint []byte
	position    int64
	channelID   string
	messageID   string
	target      string
	createdAt   time.Time
	// conversation is what the message carried, found mentions included; nil for none.
	conversation *message.Conversation
}

// Seal computes the fingerprint by which the writer tells a repeated message from a different one under the same key.
func (d *Draft) Seal() error {
	if d.Key == "" {
		return nil
	}
	sum := sha256.New()
	writeField(sum, []byte(d.MessageType))
	writeField(sum, []byte(d.Target))
	writeField(sum, []byte(d.CorrelationID))
	var times [16]byte
	if !d.ExpiresAt.IsZero() {
		binary.BigEndian.PutUint64(times[:8], uint64(d.ExpiresAt.UnixMicro()))
	}
	binary.BigEndian.PutUint64(times[8:], uint64(d.Timeout))
	writeField(sum, times[:])
	for _, object := range []jsonvalue.Object{d.payload, d.metadata} {
		canonical, err := jsonvalue.Canonical(object.OrEmpty())
		if err != nil {
			return err
		}
		writeField(sum, canonical)
	}
	d.sealConversation(sum)
	sum.Sum(d.fingerprint[:0])
	return nil
}

// sealConversation adds what the sender gave beyond RFC-0021. A draft without any of it has the fingerprint that it had before
// there was such a thing.
func (d *Draft) sealConversation(sum hash.Hash) {
	if d.given == nil {
		return
	}
	_, given := d.given.Columns()
	writeField(sum, given)
}

// writeField adds a field with its length, so that no two lists of fields have the same hash by accident.
func writeField(sum hash.Hash, field []byte) {
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(field)))
	sum.Write(length[:])
	sum.Write(field)
}

// Scope is where an idempotency key is unique, beside its intent and its sender: the channel, or the name under which the
// draft asks for one.
func (d *Draft) Scope() string {
	if d.Name != "" {
		return "name:" + d.Name
	}
	return "channel:" + d.ChannelID
}

// readKeys reads the records of the drafts' idempotency keys. The statement reads all combinations of their columns; only
// the wanted ones are looked up in the map.
func (b *batch) readKeys(intentNos []int64) []database.Statement {
	var senders, scopes, keys []string
	for _, s := range b.submissions {
		if s.draft.Key != "" {
			senders, scopes = append(senders, s.draft.Sender), append(scopes, s.draft.Scope())
			keys = append(keys, s.draft.Key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	inIntents, intentArgument := b.tx.In("intent_no", intentNos)
	inSenders, senderArgument := b.tx.In("sender", database.Distinct(senders))
	inScopes, scopeArgument := b.tx.In("scope", database.Distinct(scopes))
	inKeys, keyArgument := b.tx.In("key", database.Distinct(keys))
	return []database.Statement{{
		SQL: "SELECT intent_no, sender, scope, key, fingerprint, position, channel_id, message_id, target, created_at, conversation" +
			" FROM idempotency_keys WHERE " + inIntents + " AND " + inSenders + " AND " + inScopes + " AND " + inKeys,
		Args: []any{intentArgument, senderArgument, scopeArgument, keyArgument},
		Scan: b.scanKey,
	}}
}

// noteKey notes that a draft of this batch was stored under a key, for the drafts that follow.
func (b *batch) noteKey(place keyPlace, record keyRecord) {
	if b.keys == nil {
		b.keys = make(map[keyPlace]keyRecord)
	}
	b.keys[place] = record
}

func (b *batch) scanKey(row database.Row) error {
	var place keyPlace
	var record keyRecord
	var target sql.NullString
	var createdAt int64
	var conversation []byte
	err := row.Scan(&place.intentNo, &place.sender, &place.scope, &place.key, &record.fingerprint, &record.position,
		&record.channelID, &record.messageID, &target, &createdAt, &conversation)
	if err != nil {
		return err
	}
	if record.conversation, err = message.ConversationFrom(0, conversation); err != nil {
		return err
	}
	record.target, record.createdAt = target.String, database.Time(createdAt)
	b.noteKey(place, record)
	return nil
}

// replay returns the message that was first sent under the draft's key, as its sender got it then. The repeated draft
// carries the same content, so the record need not keep any.
func (b *batch) replay(head *intents.Head, d *Draft, record keyRecord) (*message.Message, error) {
	if !bytes.Equal(record.fingerprint, d.fingerprint[:]) {
		return nil, message.ErrKeyReused
	}
	return &message.Message{
		IntentNo: head.IntentNo, Position: record.position,
		ID: record.messageID, ChannelID: record.channelID, Sender: d.Sender, Target: record.target, Type: d.MessageType,
		CorrelationID: d.CorrelationID, Payload: d.payload.OrEmpty(), Metadata: d.metadata.OrEmpty(), Conversation: record.conversation,
		CreatedAt: record.createdAt, ExpiresAt: d.expiry(record.createdAt), Open: d.MessageType == message.TypeRequest,
	}, nil
}

// forget removes an idempotency key that holds no more and is about to be used again.
func (a *appender) forget(place keyPlace) { a.forgotten = append(a.forgotten, place) }

func (a *appender) forgetStatements() []database.Statement {
	statements := make([]database.Statement, 0, len(a.forgotten))
	for _, place := range a.forgotten {
		statements = append(statements, database.Statement{
			SQL:  "DELETE FROM idempotency_keys WHERE intent_no = ? AND sender = ? AND scope = ? AND key = ?",
			Args: []any{place.intentNo, place.sender, place.scope, place.key},
		})
	}
	return statements
}

func recordOf(d *Draft, m *message.Message) keyRecord {
	return keyRecord{
		fingerprint: d.fingerprint[:], position: m.Position, channelID: m.ChannelID,
		messageID: m.ID, target: m.Target, createdAt: m.CreatedAt, conversation: m.Conversation,
	}
}

type keyBatch struct {
	intentNo, position, createdAt            []int64
	sender, scope, key, channelID, messageID []string
	target                                   []*string
	fingerprint                              [][]byte
	conversations                            conversationBatch
}

func (b *keyBatch) add(d *Draft, m *message.Message) {
	b.intentNo = append(b.intentNo, m.IntentNo)
	b.sender = append(b.sender, d.Sender)
	b.scope = append(b.scope, d.Scope())
	b.key = append(b.key, d.Key)
	b.fingerprint = append(b.fingerprint, d.fingerprint[:])
	b.position = append(b.position, m.Position)
	b.channelID = append(b.channelID, m.ChannelID)
	b.messageID = append(b.messageID, m.ID)
	b.target = append(b.target, database.NullText(m.Target))
	b.createdAt = append(b.createdAt, database.Micros(m.CreatedAt))
	b.conversations.add(len(b.key)-1, m.Conversation)
}

func (b *keyBatch) statements(tx *database.Tx) []database.Statement {
	columns := []database.Column{
		{Name: "intent_no", Values: b.intentNo},
		{Name: "sender", Values: b.sender},
		{Name: "scope", Values: b.scope},
		{Name: "key", Values: b.key},
		{Name: "fingerprint", Values: b.fingerprint},
		{Name: "position", Values: b.position},
		{Name: "channel_id", Values: b.channelID},
		{Name: "message_id", Values: b.messageID},
		{Name: "target", Values: b.target},
		{Name: "created_at", Values: b.createdAt},
	}
	if b.conversations.fillUpTo(len(b.key)) {
		columns = append(columns, database.Column{Name: "conversation", Values: b.conversations.conversation})
	}
	return tx.Insert("idempotency_keys", columns...)
}
