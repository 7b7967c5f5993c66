package database

import (
	"context"
	"strings"
)

// Account pays for what transactions store.
type Account interface {
	// Admit refuses a transaction before it has made a statement.
	Admit() error
	// Charge is told what a transaction has stored: how many rows it added or changed, and the bytes of the values that it gave them.
	// After a commit whose outcome is unknown, it is told as well.
	Charge(rows, bytes int64)
}

// ChargeTo sets the function that finds, by the context of a Write, the account of whoever has it written; nil for nobody. Rows that are
// removed cost nothing. Call ChargeTo before the first Write.
func (db *DB) ChargeTo(account func(ctx context.Context) Account) { db.account = account }

// payer finds who pays for a transaction, and has the transaction admitted. It has its connection by now, so no more are admitted at a
// time than there are connections.
func (tx *Tx) payer() error {
	if tx.db.account == nil {
		return nil
	}
	account := tx.db.account(tx.ctx)
	if account == nil {
		return nil
	}
	tx.tally = &tally{account: account}
	return account.Admit()
}

// tally counts what a transaction stores. A nil tally counts nothing.
type tally struct {
	account     Account
	rows, bytes int64
}

// charge tells the account what was stored.
func (t *tally) charge() {
	if t != nil && t.rows > 0 {
		t.account.Charge(t.rows, t.bytes)
	}
}

// run runs statements and counts what they store.
func (t *tally) run(statements []Statement, run func([]Statement) error) error {
	if t == nil {
		return run(statements)
	}
	counted := append([]Statement(nil), statements...)
	affected := make([]int64, len(counted))
	for i := range counted {
		if counted[i].Affected == nil && stores(counted[i].SQL) {
			counted[i].Affected = &affected[i]
		}
	}
	if err := run(counted); err != nil {
		return err
	}
	for _, s := range counted {
		if s.Affected != nil && stores(s.SQL) {
			t.add(*s.Affected, s.Args)
		}
	}
	return nil
}

// add counts the rows that one statement added or changed. If it did neither, its values are stored nowhere.
func (t *tally) add(rows int64, args []any) {
	if rows <= 0 {
		return
	}
	t.rows += rows
	for _, arg := range args {
		t.bytes += sizeOf(arg)
	}
}

// stores reports whether a statement adds or changes rows.
func stores(sql string) bool {
	return strings.HasPrefix(sql, "INSERT ") || strings.HasPrefix(sql, "UPDATE ")
}

// numberSize is what a number, a time or a truth counts for.
const numberSize = 8

// sizeOf returns the bytes of an argument of a statement, or of all values of a column.
func sizeOf(arg any) (bytes int64) {
	switch value := arg.(type) {
	case nil:
		return 0
	case string:
		return int64(len(value))
	case []byte:
		return int64(len(value))
	case *string:
		if value == nil {
			return 0
		}
		return int64(len(*value))
	case []string:
		for _, text := range value {
			bytes += int64(len(text))
		}
		return bytes
	case []*string:
		for _, text := range value {
			bytes += sizeOf(text)
		}
		return bytes
	case [][]byte:
		for _, text := range value {
			bytes += int64(len(text))
		}
		return bytes
	case []int64:
		return numberSize * int64(len(value))
	case []*int64:
		return numberSize * int64(len(value))
	case []bool:
		return int64(len(value))
	}
	return numberSize
}
