package messaging

import (
	"context"

	"openintent/intents"
	"openintent/internal/database"
)

// marksOfMessages are the tables of what was done with messages, by position and by message_position. A message may have any
// number of such rows, and they go with it.
var marksOfMessages = []string{"annotations", "reactions"}

// clearMarks removes the annotations and the reactions of messages that are about to be removed, a bounded number in each
// transaction. It is called before the removal; what came in between goes with the message (deleteAt).
func (s *Service) clearMarks(ctx context.Context, intentNo int64, messages []int64) error {
	if len(messages) == 0 {
		return nil
	}
	for _, table := range marksOfMessages {
		for found := sweepBatch; found == sweepBatch; {
			var marks []int64
			err := s.db.ReadStatement(ctx, func(tx *database.Tx) (err error) {
				marks, err = marksOf(tx, table, intentNo, messages)
				return err
			})
			if err != nil {
				return err
			}
			if found = len(marks); found == 0 {
				break
			}
			if err := s.deleteMarks(ctx, table, intentNo, marks); err != nil {
				return err
			}
		}
	}
	return nil
}

// marksOf returns the positions of the next rows of some messages.
func marksOf(tx *database.Tx, table string, intentNo int64, messages []int64) (marks []int64, err error) {
	in, arguments := inIntent(tx, intentNo, "message_position", messages)
	err = tx.Pipeline(database.Statement{
		SQL:  "SELECT position FROM " + table + " WHERE " + in + " LIMIT ?",
		Args: append(arguments, sweepBatch),
		Scan: func(row database.Row) error {
			var position int64
			err := row.Scan(&position)
			marks = append(marks, position)
			return err
		},
	})
	return marks, err
}

func (s *Service) deleteMarks(ctx context.Context, table string, intentNo int64, positions []int64) error {
	return s.db.Write(ctx, func(tx *database.Tx) error {
		if _, err := intents.Lock(tx, intentNo); err != nil {
			return err
		}
		in, arguments := inIntent(tx, intentNo, "position", positions)
		return tx.Pipeline(database.Statement{SQL: "DELETE FROM " + table + " WHERE " + in, Args: arguments})
	})
}

// inIntent returns the condition that a row belongs to the intent and its column has one of the positions, and the condition's
// arguments. The database looks each position up by its whole key, however many rows the intent has.
func inIntent(tx *database.Tx, intentNo int64, column string, positions []int64) (sql string, arguments []any) {
	return tx.InRows(
		database.Column{Name: "intent_no", Values: repeated(intentNo, len(positions))},
		database.Column{Name: column, Values: positions},
	)
}
