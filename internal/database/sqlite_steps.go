package database

import (
	"modernc.org/libc"
	codes "modernc.org/sqlite/lib"
)

// countSteps tells the hook how many steps SQLite took for each prepared statement since it was last asked. The steps of a statement say how
// many rows and index entries it went through, however fast that was.
func (c *sqliteConnection) countSteps() {
	if c.steps == nil || c.handle == 0 || c.conn == nil {
		return
	}
	tls := libc.NewTLS()
	defer tls.Close()
	for statement := uintptr(0); ; {
		if statement = codes.Xsqlite3_next_stmt(tls, c.handle, statement); statement == 0 {
			return
		}
		if steps := codes.Xsqlite3_stmt_status(tls, statement, codes.SQLITE_STMTSTATUS_VM_STEP, 1); steps > 0 {
			c.steps(libc.GoString(codes.Xsqlite3_sql(tls, statement)), int64(steps))
		}
	}
}
