package database

import "context"

// RenewStatistics makes the database analyze the tables that have grown several times over since their last analysis. The
// database plans statements by these statistics, and keeps a plan until the next analysis. By itself it analyzes only after a
// minute or so; meanwhile a new database may take in millions of rows with plans made for empty tables. Call RenewStatistics
// often, in turn: a check costs one small statement, and a table is analyzed once each time it triples.
//
// On SQLite, which plans only by the form of a statement, it does nothing.
func (db *DB) RenewStatistics(ctx context.Context) error {
	counting, counts := db.dialect.(counting)
	if !counts {
		return nil
	}
	var grown []string
	err := db.ReadStatement(ctx, func(tx *Tx) error {
		grown = nil
		return tx.Pipeline(counting.grown(&grown))
	})
	if err != nil {
		return err
	}
	for _, table := range grown {
		err := db.Write(ctx, func(tx *Tx) error { return tx.Pipeline(Statement{SQL: counting.count(table)}) })
		if err != nil {
			return err
		}
	}
	return nil
}

// counting is implemented by a dialect whose database plans statements by statistics.
type counting interface {
	// grown returns the statement that finds the tables that have to be analyzed again.
	grown(tables *[]string) Statement
	// count returns the statement that analyzes one of them.
	count(table string) string
}
