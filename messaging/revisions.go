package messaging

import (
	"context"
	"strconv"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/pages"
	"openintent/messaging/message"
	"openintent/messaging/writing"
)

const (
	// maxRevisions is how many revisions a message has at most, with the first and the present one.
	maxRevisions = 100
	// keptContents bounds what the revisions of a message hold together, in the largest contents that one may have. So a message
	// that is edited without end takes up as much as a few others.
	keptContents = 4
)

// listOfRevisions names the list in its cursors.
const listOfRevisions = "revisions"

// ListRevisions lists what a message's content was and is, for whoever may see the message. A deleted message has no revisions.
func (s *Service) ListRevisions(
	ctx context.Context, req *openintentv1.ListRevisionsRequest,
) (*openintentv1.ListRevisionsResponse, error) {
	c, _, err := s.reading(ctx, req.GetChannelId())
	if err != nil {
		return nil, err
	}
	var after int64
	page, err := pages.Begin(listOfRevisions, req, pages.MaxEntries, &after)
	if err != nil {
		return nil, err
	}
	var found []message.Revision
	err = s.SeeMessage(ctx, c, c.Agent, req.GetChannelId(), req.GetMessageId(), message.Current, func(seen *Sighting) (err error) {
		found = nil
		switch m := seen.Message; {
		case m.Deleted():
		case m.Conversation != nil && m.Conversation.Revision > 0:
			found, err = loadRevisions(seen, page, after)
		case after == 0:
			found = []message.Revision{m.Revision()}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	revisions := make([]*openintentv1.MessageRevision, len(found))
	for i, one := range found {
		if revisions[i], err = one.ToWire(); err != nil {
			return nil, err
		}
	}
	answer := &openintentv1.ListRevisionsResponse{}
	answer.Revisions, answer.NextCursor = pages.Close(page, revisions, func(i int) []any { return []any{int64(found[i].Number)} })
	return answer, nil
}

// loadRevisions reads the page's revisions of an edited message: those after a number.
func loadRevisions(seen *Sighting, page *pages.Page, after int64) (found []message.Revision, err error) {
	const selection = " FROM message_revisions WHERE intent_no = ? AND position = ? AND revision > ? ORDER BY revision"
	const size = "200 + octet_length(payload) + octet_length(metadata) + octet_length(subject) + COALESCE(octet_length(mentions), 0)"
	arguments := []any{seen.Message.IntentNo, seen.Message.Position, after}
	rows, err := page.Fit(seen.Tx, size, selection, arguments...)
	if err != nil {
		return nil, err
	}
	err = seen.Tx.Pipeline(database.Statement{
		SQL:  "SELECT revision, payload, metadata, subject, mentions, created_at" + selection + " LIMIT ?",
		Args: append(arguments, rows),
		Scan: func(row database.Row) error {
			var r message.Revision
			var payload, metadata, mentions []byte
			var createdAt int64
			if err := row.Scan(&r.Number, &payload, &metadata, &r.Subject, &mentions, &createdAt); err != nil {
				return err
			}
			r.Payload, r.Metadata, r.CreatedAt = payload, metadata, database.Time(createdAt)
			var err error
			r.Mentions, err = message.DecodeMentions(mentions)
			found = append(found, r)
			return err
		},
	})
	return found, err
}

// storeRevision stores an edited message, with its new revision and, after the first edit, what it said before. It raises the
// intent's epoch, so that whoever shares the message's old content here or on another replica reads it again.
func (s *Service) storeRevision(seen *Sighting, before message.Revision, edited *message.Message) error {
	after := edited.Revision()
	if after.Number > maxRevisions {
		return tooManyRevisions(edited, "it can be edited %d times at most", maxRevisions-1)
	}
	kept, err := keptBytes(seen)
	if err != nil {
		return err
	}
	added := []message.Revision{after}
	if before.Number == 1 {
		added = []message.Revision{before, after}
	}
	for _, r := range added {
		kept += len(r.Payload) + len(r.Metadata)
	}
	if most := keptContents * s.maxPayloadBytes; kept > most {
		return tooManyRevisions(edited, "together they can have %d bytes at most", most)
	}
	if err := seen.Annotate(message.AnnotationEdit, edited.Sender, message.AnnotationDetails{Revision: after.Number}); err != nil {
		return err
	}
	if channel := seen.Channel(); channel.Audit {
		if _, err := seen.head.Log(writing.RevisionEvent(channel, edited, seen.By.TraceID)); err != nil {
			return err
		}
	}
	seen.Tx.SendWithCommit(insertRevisions(seen.Tx, edited, added)...)
	seen.Tx.SendWithCommit(setContent(edited))
	seen.head.RaiseEpoch()
	return nil
}

// tooManyRevisions refuses an edit of a message that has as many revisions as it may, in number or in bytes.
func tooManyRevisions(m *message.Message, why string, numbers ...any) error {
	return fault.New(fault.Conflict, "TOO_MANY_REVISIONS",
		"The message keeps all of its revisions, and "+why+"; send a new message instead.", numbers...).
		With("message_id", m.ID).With("revision", strconv.Itoa(m.Revision().Number-1))
}

// keptBytes tells how much the stored revisions of a message hold.
func keptBytes(seen *Sighting) (bytes int, err error) {
	err = seen.Tx.Pipeline(database.Statement{
		SQL: "SELECT COALESCE(SUM(octet_length(payload) + octet_length(metadata)), 0) FROM message_revisions" +
			" WHERE intent_no = ? AND position = ?",
		Args: []any{seen.Message.IntentNo, seen.Message.Position},
		Scan: func(row database.Row) error { return row.Scan(&bytes) },
	})
	return bytes, err
}

func insertRevisions(tx *database.Tx, m *message.Message, added []message.Revision) []database.Statement {
	n := len(added)
	numbers, times := make([]int64, n), make([]int64, n)
	payloads, metadatas, mentions := make([][]byte, n), make([][]byte, n), make([][]byte, n)
	subjects := make([]string, n)
	for i, r := range added {
		numbers[i], times[i], subjects[i] = int64(r.Number), database.Micros(r.CreatedAt), r.Subject
		payloads[i], metadatas[i], mentions[i] = r.Payload, r.Metadata, message.EncodeMentions(r.Mentions)
	}
	return tx.Insert("message_revisions",
		database.Column{Name: "intent_no", Values: repeated(m.IntentNo, n)},
		database.Column{Name: "position", Values: repeated(m.Position, n)},
		database.Column{Name: "revision", Values: numbers},
		database.Column{Name: "payload", Values: payloads},
		database.Column{Name: "metadata", Values: metadatas},
		database.Column{Name: "subject", Values: subjects},
		database.Column{Name: "mentions", Values: mentions},
		database.Column{Name: "created_at", Values: times},
	)
}

// setContent returns the statement that stores what an edit or a deletion has made of a message.
func setContent(m *message.Message) database.Statement {
	_, conversation := m.Conversation.Columns()
	return database.Statement{
		SQL:  "UPDATE messages SET payload = ?, metadata = ?, conversation = ? WHERE intent_no = ? AND position = ?",
		Args: []any{[]byte(m.Payload), []byte(m.Metadata), conversation, m.IntentNo, m.Position},
	}
}
