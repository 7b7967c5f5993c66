package messaging

import (
	"context"
	"time"

	"openintent/channels"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/messaging/message"
	"openintent/messaging/reading"
)

// errDocumentsAlone refuses a list of documents that asks for something else, too.
var errDocumentsAlone = fault.BadField("documents", "it goes with kind and without_contents only; leave out since, to, limit, max_bytes, message_type, correlation_id and thread_id")

// checkDocuments refuses a list of documents that asks for something else, too.
func checkDocuments(req *openintentv1.ListMessagesRequest) error {
	if req.Since != nil || req.To != nil || req.Limit != nil || req.MaxBytes != nil || req.MessageType != nil || req.CorrelationId != nil ||
		req.ThreadId != nil {
		return errDocumentsAlone
	}
	return nil
}

// listDocuments returns the present contents of a channel's documents, of one kind or of all, as far as the caller may see them. The writer
// decides which messages these are (writing/documents.go), and bounds how many.
func (s *Service) listDocuments(
	ctx context.Context, key channels.Key, by caller.Caller, kind string,
) (found []*message.Message, now time.Time, err error) {
	err = s.db.ReadFor(ctx, by.Reader(), func(tx *database.Tx) error {
		l, err := s.reader.Snapshot(tx, key, []string{by.Agent})
		if err != nil {
			return err
		}
		viewer, err := l.AdmitViewer(by, by.Agent)
		if err != nil {
			return err
		}
		query := "SELECT " + message.Columns + " FROM documents d JOIN messages m ON m.intent_no = d.intent_no AND m.position = d.position" +
			" WHERE d.intent_no = ? AND d.channel_no = ?"
		arguments := message.ViewedBy(by.Agent, key.IntentNo, key.ChannelNo)
		if kind != "" {
			query, arguments = query+" AND d.kind = ?", append(arguments, kind)
		}
		rows, statement := reading.PrepareMessages(l.Channel.ID, query+" ORDER BY m.position", arguments...)
		if err := tx.Pipeline(statement); err != nil {
			return err
		}
		found, now = nil, l.Now
		for _, m := range rows.Messages {
			if viewer.Sees(m, message.EvenEvicted, l.Count.Floor, l.Now) {
				found = append(found, m)
			}
		}
		return nil
	})
	return found, now, err
}
