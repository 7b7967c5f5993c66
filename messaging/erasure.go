package messaging

import (
	"context"
	"errors"

	"openintent/channels"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/message"
	"openintent/messaging/writing"
)

const (
	// lookedThrough is how many messages one read of an erasure looks through, and erasedTogether how many one transaction erases.
	lookedThrough  = 2_000
	erasedTogether = 50
	// listedTogether is how many channels one read of an erasure lists.
	listedTogether = 500
)

// ErasedChannel says what became of an agent's messages in one channel.
type ErasedChannel struct {
	IntentNo int64
	ID, Name string
	// Erased counts the messages that lost their content now, and Audited those that keep it, because the intent's log has a copy.
	Erased, Audited int64
}

// FinishDepartures does what deletions of channels and the agent's departure have left to do, as the sweep does it. So no message waits
// for its removal in a channel that is gone.
func (s *Service) FinishDepartures(ctx context.Context, agentID string) error {
	return errors.Join(s.sweepWork(ctx, writing.WorkDeparture, agentID), s.sweepWork(ctx, writing.WorkRemoval, ""))
}

// EraseSent deletes the contents of all messages of an agent in an intent, in the operator's name. What becomes of a message is what
// DeleteMessage makes of it, but an erasure asks for nobody's sight: it also finds messages in closed channels and in ended intents, and
// those whose time is over or that were evicted. Messages of audited channels stay. It tells of each channel with messages that it
// erased or left. A bounded number of messages is erased at a time, so a repeat goes on where an erasure was interrupted.
func (s *Service) EraseSent(ctx context.Context, intentNo int64, agentID string, tell func(ErasedChannel)) error {
	for after, more := int64(0), true; more; {
		var listed []ErasedChannel
		var numbers []int64
		err := s.db.ReadStatement(ctx, func(tx *database.Tx) error {
			return tx.Pipeline(database.Statement{
				SQL: "SELECT channel_no, id, name FROM channels WHERE intent_no = ? AND channel_no > ? AND deleted_at IS NULL" +
					" ORDER BY channel_no LIMIT ?",
				Args: []any{intentNo, after, listedTogether},
				Scan: func(row database.Row) error {
					c, no := ErasedChannel{IntentNo: intentNo}, int64(0)
					err := row.Scan(&no, &c.ID, &c.Name)
					listed, numbers = append(listed, c), append(numbers, no)
					return err
				},
			})
		})
		if err != nil {
			return err
		}
		for i, no := range numbers {
			if err := s.eraseIn(ctx, channels.Key{IntentNo: intentNo, ChannelNo: no}, agentID, &listed[i]); err != nil {
				return err
			}
			if listed[i].Erased+listed[i].Audited > 0 {
				tell(listed[i])
			}
			after = no
		}
		more = len(numbers) == listedTogether
	}
	return nil
}

// eraseIn erases an agent's messages in one channel.
func (s *Service) eraseIn(ctx context.Context, key channels.Key, agentID string, count *ErasedChannel) error {
	for after, more := int64(0), true; more; {
		var positions []int64
		looked := 0
		err := s.db.ReadStatement(ctx, func(tx *database.Tx) error {
			return tx.Pipeline(database.Statement{
				SQL: "SELECT ordinal, position, sender = ?, CASE WHEN sender = ? THEN conversation END FROM messages" +
					" WHERE intent_no = ? AND channel_no = ? AND ordinal > ? ORDER BY ordinal LIMIT ?",
				Args: []any{agentID, agentID, key.IntentNo, key.ChannelNo, after, lookedThrough},
				Scan: func(row database.Row) error {
					var position int64
					var own bool
					var fields []byte
					if err := row.Scan(&after, &position, &own, &fields); err != nil {
						return err
					}
					looked++
					c, err := message.ConversationFrom(0, fields)
					if own && (c == nil || c.DeletedAt.IsZero()) {
						positions = append(positions, position)
					}
					return err
				},
			})
		})
		for ; err == nil && len(positions) > 0; positions = positions[min(erasedTogether, len(positions)):] {
			err = s.eraseAt(ctx, key, positions[:min(erasedTogether, len(positions))], count)
		}
		if err != nil {
			return err
		}
		more = looked == lookedThrough
	}
	return nil
}

// eraseAt erases some messages of a channel in one transaction, and counts them.
func (s *Service) eraseAt(ctx context.Context, key channels.Key, positions []int64, count *ErasedChannel) error {
	var erased, left int64
	err := s.db.Write(ctx, func(tx *database.Tx) error {
		erased, left = 0, 0
		snapshot, head, err := s.reader.LockedSnapshot(tx, key, nil)
		if errors.Is(err, channels.ErrChannelNotFound) {
			return nil // somebody has deleted the channel; the sweep removes its messages
		}
		if err != nil {
			return err
		}
		for _, position := range positions {
			seen := &Sighting{Tx: tx, Snapshot: snapshot, Viewer: message.Viewer{Agent: caller.Operator}, service: s, head: head}
			if seen.Message, err = snapshot.FindAt(tx, "", position); err != nil {
				return err
			}
			if seen.Message == nil || seen.Message.Deleted() {
				continue
			}
			copied, err := audited(seen)
			if err == nil && !copied {
				_, err = storeDeletion(seen)
			}
			switch {
			case err != nil:
				return err
			case copied:
				left++
			default:
				erased++
			}
		}
		return nil
	})
	if err == nil {
		count.Erased, count.Audited = count.Erased+erased, count.Audited+left
	}
	return err
}
