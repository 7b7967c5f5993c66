package intents

import (
	"context"

	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/jsonvalue"
)

// Found makes an active intent of a given id in the server's own name, unless there is one of that id. No agent is its creator, so no
// agent has more rights there than others, until the operator gives them. furnish makes in the same transaction what belongs into the
// new intent; its head is locked. Servers that share a database may call Found at the same time.
func (s *Service) Found(
	ctx context.Context, id, title, description string, furnish func(tx *database.Tx, head *Head) error,
) error {
	err := s.db.Write(ctx, func(tx *database.Tx) error {
		if there, err := exists(tx, id); there || err != nil {
			return err
		}
		tx.AfterCommit(func() { s.logger.Info("made an intent of the server's own", "intent", id, "title", title) })
		head, err := found(tx, &Intent{
			ID: id, Title: title, Description: description, Status: StatusActive, Version: 1, DependsOn: []string{}, CreatedBy: caller.System,
			Constraints: jsonvalue.Object(nil).OrEmpty(), State: jsonvalue.Object(nil).OrEmpty(),
		})
		if err != nil {
			return err
		}
		return furnish(tx, head)
	})
	if err == nil {
		return nil
	}
	// Another server may have made it in the meantime.
	look := s.db.ReadStatement(ctx, func(tx *database.Tx) error {
		there, failed := exists(tx, id)
		if failed == nil && there {
			err = nil
		}
		return failed
	})
	if look != nil {
		return look
	}
	return err
}

func exists(tx *database.Tx, id string) (bool, error) {
	var one int64
	err := tx.Pipeline(database.ReadValue(&one, "SELECT 1 FROM intents WHERE id = ?", id))
	return one == 1, err
}

// found stores an intent of the server's own and begins its log.
func found(tx *database.Tx, intent *Intent) (*Head, error) {
	intent.CreatedAt = lockedHeadsOf(tx).clock()
	intent.UpdatedAt = intent.CreatedAt
	head, err := insertIntent(tx, intent, "")
	if err != nil {
		return nil, err
	}
	var payload jsonvalue.Builder
	payload.String("title", intent.Title).String("status", string(intent.Status))
	return head, log(head, caller.Caller{}, caller.System, "intent_created", &payload)
}
