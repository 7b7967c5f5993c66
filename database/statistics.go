package database

import "context"

// RenewStatistics lets the database count again what tables hold that have grown several times over since it counted last.
// By its count it decides how statements are carried out, and it keeps to that until the next count; by itself it counts
// only after a minute or so, in which a new database may take in millions of rows under plans made for none. Do it
// often, in turn: looking costs one small statement, and a table is counted once for each time that it trebles.
//
// On SQLite, which decides by the form of a statement alone, it does nothing.
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

// counting is the part of a dialect whose database carries statements out by what it has counted.
type counting interface {
	// grown finds the tables that have to be counted again.
	grown(tables *[]string) Statement
	// count is the statement that counts one of them.
	count(table string) string
}
