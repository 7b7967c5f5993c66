package search

import (
	"cmp"
	"context"
	"slices"

	"openintent/database"
)

// store puts a batch into the index, in one transaction.
func (x *indexer) store(ctx context.Context, b *batch) error {
	slices.SortFunc(b.documents, func(one, other document) int {
		return cmp.Or(cmp.Compare(one.micros, other.micros), cmp.Compare(one.intentNo, other.intentNo), cmp.Compare(one.position, other.position))
	})
	err := x.service.db.Write(ctx, func(tx *database.Tx) error {
		if err := x.change(tx, 0); err != nil {
			return err
		}
		if err := forgetAhead(tx, b.backlogs); err != nil {
			return err
		}
		if err := put(tx, slices.Clone(b.documents)); err != nil {
			return err
		}
		tx.SendWithCommit(cursors(tx, b)...)
		return nil
	})
	if err != nil {
		return err
	}
	if x.unmerged += len(b.documents); x.unmerged < mergeEach {
		return nil
	}
	x.unmerged = 0
	return x.merge(ctx)
}

// mergeEach is after how many documents the index tidies up.
const mergeEach = 512

// merge lets the index tidy up, in a transaction of its own.
func (x *indexer) merge(ctx context.Context) error {
	if x.service.db.Engine() != database.SQLite {
		return nil
	}
	return x.service.db.Write(ctx, func(tx *database.Tx) error { return tx.Pipeline(tx.MergeWords()...) })
}

// cursors returns the statements that note how far the logs are in the index.
func cursors(tx *database.Tx, b *batch) []database.Statement {
	intentNos := make([]int64, len(b.backlogs))
	for i, one := range b.backlogs {
		intentNos[i] = one.intentNo
	}
	intent := database.Column{Name: "intent_no", Values: intentNos}
	position := database.Column{Name: "position", Values: b.through}
	return append(tx.InsertIgnore("search_cursors", intent, position),
		tx.Update("search_cursors", []database.Column{intent}, []database.Column{position})...)
}

// put brings documents into the index. What the index has of their messages goes.
func put(tx *database.Tx, documents []document) error {
	if len(documents) == 0 {
		return nil
	}
	intentNos, positions := make([]int64, len(documents)), make([]int64, len(documents))
	for i, d := range documents {
		intentNos[i], positions[i] = d.intentNo, d.position
	}
	if err := forget(tx, intentNos, positions); err != nil {
		return err
	}
	documents = slices.DeleteFunc(documents, func(d document) bool { return len(d.words) == 0 })
	if err := number(tx, documents); err != nil || len(documents) == 0 {
		return err
	}
	var numbers []int64
	intentNos, positions = nil, nil
	var words []database.IndexedWords
	for _, d := range documents {
		numbers, intentNos, positions = append(numbers, d.number), append(intentNos, d.intentNo), append(positions, d.position)
		words = append(words, database.IndexedWords{Number: d.number, Words: d.words})
	}
	tx.SendWithCommit(tx.Insert("search_documents",
		database.Column{Name: "document", Values: numbers},
		database.Column{Name: "intent_no", Values: intentNos},
		database.Column{Name: "position", Values: positions})...)
	tx.SendWithCommit(tx.IndexWords(words)...)
	return nil
}

// number gives documents, which are in the order of time, numbers that no other document has. Those of one microsecond get different
// ones. Where two documents want the same number, the later one gets the next.
func number(tx *database.Tx, documents []document) error {
	for i := range documents {
		d := &documents[i]
		d.number = numberAt(d.micros) + d.intentNo%slots
	}
	for {
		slices.SortStableFunc(documents, func(one, other document) int { return cmp.Compare(one.number, other.number) })
		numbers := make([]int64, len(documents))
		for i := range documents {
			if i > 0 {
				documents[i].number = max(documents[i].number, documents[i-1].number+1)
			}
			numbers[i] = documents[i].number
		}
		taken := make(map[int64]struct{})
		in, argument := tx.In("document", numbers)
		err := tx.Pipeline(database.Statement{
			SQL: "SELECT document FROM search_documents WHERE " + in, Args: []any{argument},
			Scan: func(row database.Row) error {
				var number int64
				err := row.Scan(&number)
				taken[number] = struct{}{}
				return err
			},
		})
		if err != nil || len(taken) == 0 {
			return err
		}
		for i := range documents {
			if _, other := taken[documents[i].number]; other {
				documents[i].number++
			}
		}
	}
}

// forget removes what the index has of messages.
func forget(tx *database.Tx, intentNos, positions []int64) error {
	in, arguments := tx.InRows(database.Column{Name: "intent_no", Values: intentNos}, database.Column{Name: "position", Values: positions})
	var numbers []int64
	if err := tx.Pipeline(database.ReadValues(&numbers, "SELECT document FROM search_documents WHERE "+in, arguments...)); err != nil {
		return err
	}
	return remove(tx, numbers)
}

func remove(tx *database.Tx, numbers []int64) error {
	if len(numbers) == 0 {
		return nil
	}
	in, argument := tx.In("document", numbers)
	return tx.Pipeline(tx.ForgetWords(numbers), database.Statement{
		SQL: "DELETE FROM search_documents WHERE " + in, Args: []any{argument},
	})
}

// forgetAhead removes what the index has of logs beyond their ends: the database has lost the messages.
func forgetAhead(tx *database.Tx, backlogs []backlog) error {
	for _, b := range backlogs {
		if b.through <= b.last {
			continue
		}
		var numbers []int64
		if err := tx.Pipeline(database.ReadValues(&numbers,
			"SELECT document FROM search_documents WHERE intent_no = ? AND position > ?", b.intentNo, b.last)); err != nil {
			return err
		}
		if err := remove(tx, numbers); err != nil {
			return err
		}
	}
	return nil
}
