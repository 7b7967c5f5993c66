package search

import (
	"cmp"
	"context"
	"slices"

	"openintent/internal/database"
)

// store puts a batch into the index, in one transaction.
func (x *indexer) store(ctx context.Context, b *batch) error {
	slices.SortFunc(b.documents, func(one, other document) int {
		return cmp.Or(cmp.Compare(one.micros, other.micros), cmp.Compare(one.intentNo, other.intentNo), cmp.Compare(one.position, other.position))
	})
	err := x.service.db.Write(ctx, func(tx *database.Tx) error {
		p := putting{tx: tx, documents: slices.Clone(b.documents)}
		if err := x.change(tx, 0, p.look()...); err != nil {
			return err
		}
		if err := forgetAhead(tx, b.stretches); err != nil {
			return err
		}
		if err := p.put(); err != nil {
			return err
		}
		tx.SendWithCommit(cursors(tx, b.spans())...)
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

// cursors returns the statements that note what the index has of some logs.
func cursors(tx *database.Tx, spans []span) []database.Statement {
	var intentNos, positions, withHole, lows, highs []int64
	for _, s := range spans {
		intentNos, positions = append(intentNos, s.intentNo), append(positions, s.through)
		if s.high > 0 {
			withHole, lows, highs = append(withHole, s.intentNo), append(lows, s.low), append(highs, s.high)
		}
	}
	intent := database.Column{Name: "intent_no", Values: intentNos}
	position := database.Column{Name: "position", Values: positions}
	in, argument := tx.In("intent_no", intentNos)
	return slices.Concat(tx.InsertIgnore("search_cursors", intent, position),
		tx.Update("search_cursors", []database.Column{intent}, []database.Column{position}),
		[]database.Statement{{SQL: "DELETE FROM search_holes WHERE " + in, Args: []any{argument}}},
		tx.Insert("search_holes", database.Column{Name: "intent_no", Values: withHole},
			database.Column{Name: "low", Values: lows}, database.Column{Name: "high", Values: highs}))
}

// putting is how a transaction brings documents, which are in the order of time, into the index.
type putting struct {
	tx        *database.Tx
	documents []document
	// former are the numbers that the index has of messages that come again, and taken those of the wanted ones that it has of any.
	former, taken []int64
}

// look returns the statements that the transaction begins with. What the index has of messages that come again goes, so it is looked up.
// The index has nothing of the others: they lie after the cursor of their log.
func (p *putting) look() (statements []database.Statement) {
	var intentNos, positions []int64
	for _, d := range p.documents {
		if d.again {
			intentNos, positions = append(intentNos, d.intentNo), append(positions, d.position)
		}
	}
	if len(positions) > 0 {
		statements = append(statements, documentsAt(p.tx, &p.former, intentNos, positions))
	}
	p.documents = slices.DeleteFunc(p.documents, func(d document) bool { return len(d.words) == 0 })
	for i := range p.documents {
		d := &p.documents[i]
		d.number = numberAt(d.micros) + d.intentNo%slots
	}
	p.spread()
	return append(statements, p.occupied())
}

// put does the rest, after the look.
func (p *putting) put() error {
	if err := remove(p.tx, p.former); err != nil {
		return err
	}
	for p.taken = without(p.taken, p.former); len(p.taken) > 0; {
		p.avoid()
		p.spread()
		p.taken = nil
		if err := p.tx.Pipeline(p.occupied()); err != nil {
			return err
		}
	}
	if len(p.documents) == 0 {
		return nil
	}
	intentNos, positions := make([]int64, len(p.documents)), make([]int64, len(p.documents))
	words := make([]database.IndexedWords, len(p.documents))
	for i, d := range p.documents {
		intentNos[i], positions[i] = d.intentNo, d.position
		words[i] = database.IndexedWords{Number: d.number, Words: d.words}
	}
	p.tx.SendWithCommit(p.tx.Insert("search_documents",
		database.Column{Name: "document", Values: p.numbers()},
		database.Column{Name: "intent_no", Values: intentNos},
		database.Column{Name: "position", Values: positions})...)
	p.tx.SendWithCommit(p.tx.IndexWords(words)...)
	return nil
}

// spread gives the documents different numbers, in their order. Where two want the same number, the later one gets the next.
func (p *putting) spread() {
	slices.SortStableFunc(p.documents, func(one, other document) int { return cmp.Compare(one.number, other.number) })
	for i := 1; i < len(p.documents); i++ {
		p.documents[i].number = max(p.documents[i].number, p.documents[i-1].number+1)
	}
}

// avoid moves the documents whose numbers are taken.
func (p *putting) avoid() {
	taken := make(map[int64]struct{}, len(p.taken))
	for _, number := range p.taken {
		taken[number] = struct{}{}
	}
	for i := range p.documents {
		if _, other := taken[p.documents[i].number]; other {
			p.documents[i].number++
		}
	}
}

func (p *putting) numbers() []int64 {
	numbers := make([]int64, len(p.documents))
	for i, d := range p.documents {
		numbers[i] = d.number
	}
	return numbers
}

// occupied returns the statement that finds which of the numbers are taken.
func (p *putting) occupied() database.Statement {
	in, argument := p.tx.In("document", p.numbers())
	return database.ReadValues(&p.taken, "SELECT document FROM search_documents WHERE "+in, argument)
}

func without(numbers, others []int64) []int64 {
	return slices.DeleteFunc(numbers, func(number int64) bool { return slices.Contains(others, number) })
}

// documentsAt returns the statement that reads the numbers of the documents that the index has of messages.
func documentsAt(tx *database.Tx, numbers *[]int64, intentNos, positions []int64) database.Statement {
	in, arguments := tx.InRows(database.Column{Name: "intent_no", Values: intentNos}, database.Column{Name: "position", Values: positions})
	return database.ReadValues(numbers, "SELECT document FROM search_documents WHERE "+in, arguments...)
}

// forget removes what the index has of messages.
func forget(tx *database.Tx, intentNos, positions []int64) error {
	var numbers []int64
	if err := tx.Pipeline(documentsAt(tx, &numbers, intentNos, positions)); err != nil {
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
func forgetAhead(tx *database.Tx, stretches []stretch) error {
	for _, s := range stretches {
		if s.from <= s.to {
			continue
		}
		var numbers []int64
		if err := tx.Pipeline(database.ReadValues(&numbers,
			"SELECT document FROM search_documents WHERE intent_no = ? AND position > ?", s.intentNo, s.to)); err != nil {
			return err
		}
		if err := remove(tx, numbers); err != nil {
			return err
		}
	}
	return nil
}
