package database

import "errors"

// aloneLocks distinguishes the locks of Alone from other locks in the same database.
const aloneLocks = 0x6f61

// errNotAlone is a conflict: another transaction is alone under the name.
var errNotAlone = errors.New("another transaction is at work on the same")

// Alone keeps every other transaction that is alone under the same name, on all replicas, from running beside this one: it fails with a
// conflict if there is one, and Write tries again. So it occupies no connection while it waits. What it reads from then on is what the one
// before it has stored.
func (tx *Tx) Alone(name string) error {
	try := tx.db.dialect.alone(name)
	if len(try) == 0 {
		return nil
	}
	var ours bool
	try[0].Scan = func(row Row) error { return row.Scan(&ours) }
	if err := tx.Pipeline(try...); err != nil || ours {
		return err
	}
	tx.impatient = true
	return errNotAlone
}

// alone returns no statement: a transaction that writes is alone anyway.
func (s *sqliteFile) alone(string) []Statement { return nil }

// alone returns the statement that takes a lock until the transaction ends. Programs in different schemas use different locks.
func (p *postgresServer) alone(name string) []Statement {
	return []Statement{{
		SQL:  "SELECT pg_try_advisory_xact_lock(?, hashtext(coalesce(current_schema(), '') || '/' || ?))",
		Args: []any{aloneLocks, name},
	}}
}
