// Package database opens the store, SQLite or PostgreSQL, and runs transactions on it.
//
// # Model
//
// A DB is opened from a URL; its schema is brought up to date under a lock before Open returns. All work happens in
// closures that get a Tx:
//
//	Write          changes; commits when the closure returns nil, rolls back on an error or a panic
//	Read           several statements that see one snapshot; always rolled back
//	ReadStatement  one statement, which is a snapshot by itself
//	ReadHeavy      a Read that may take long or give much, such as a page of a list
//	Lane           writing beside all others, for the one who must never stand in line behind those that wait for locks
//
// Within them there are two ways to a table, and what a statement is about decides between them:
//
//	gorm (Tx.Gorm)             a room's own rows, as models of one table: one row is created, read, changed or deleted by its
//	                           key, or rows are read or deleted by a condition
//	Statement (Tx.Pipeline)    everything else: joins, sets, counts over tables, lists of ids, many rows written at once, and
//	                           whatever travels with other statements in one round trip
//
// So SQL is written by hand for Statements only, and gorm gets models and conditions (the linter refuses its Raw and Exec in
// rooms). ReadValue and ReadValues make the usual small Statements. Tx.Pipeline sends several at once, Tx.Insert and Tx.Update
// write many rows with one, and Tx.SendWithCommit saves the last round trip; with Lane.WriteAtOnce there is no other. Who
// decides by what was seen earlier says so with Tx.UpdateExpected and Tx.RefuseChanged, and the database refuses the
// transaction when it is different by now.
//
//	Write --> fair gate --> [BEGIN + first Pipeline] --> ... --> BeforeCommit --> [SendWithCommit + COMMIT] --> AfterCommit
//
// The two engines differ only in the two implementations of dialect. No other package imports a driver.
//
// Several replicas may work on one PostgreSQL database. A Notifier tells the others what happened, and hears of it from
// them; InTurn lets one of them do what all would do. On SQLite there is one process, so neither has anything to do, and a
// replica that is alone on PostgreSQL tells nobody.
//
//	Write --> AfterCommit --> Tell --> [pending, bounded] --> NOTIFY ==> LISTEN --> Heard, or Unheard: look at everything
//
// PostgreSQL plans each statement once and for all arguments, by what it has counted. So the sessions' settings leave only
// plans that go by indexes, the schema hides from it how few rows the usual intent has, and RenewStatistics has growing
// tables counted early; that every statement then goes by its whole key is tested (e2e/soak).
//
// # What holds
//
//   - A statement that fails dooms its transaction, on both engines alike: further statements fail and the commit is
//     refused, even if the closure overlooked the error. Without that, SQLite would commit the half that worked.
//   - Write runs at READ COMMITTED on PostgreSQL and one at a time on SQLite. Lock, then read, then decide.
//   - A Write that came first gets its connection first. Reads and writes have pools of their own, so that many
//     readers cannot hold up the writers.
//   - Heavy reads have two connections of their own, and Ping has one: however many pages are asked for, a Read, a Write and
//     Ping never wait for them. Callers get these connections in turn (line.go). At most 64 heavy reads of one caller wait,
//     and 256 in all; more are refused.
//   - Read, ReadStatement and ReadHeavy cannot write.
//   - The closure of Write may run several times and must begin afresh each time.
//   - Times are bigint microseconds (Micros, Time); text compares by its bytes.
//   - Notifications are sent after the commit, over a connection of their own that waits for no disk: within the
//     transaction they would make all commits of the server wait for one another. At most one batch of them is under
//     way, and nobody who tells waits for it.
//
// # What happens on failure
//
// A conflict with another transaction (serialization, deadlock, lock timeout, busy file) is tried again a few times,
// with pauses, except in a Lane, whose caller has another way. At most half of the connections for writing wait for the locks
// of intents; others give theirs back and try again. A connection that was lost while it lay in the pool is
// replaced before anything has happened on it. Other errors are returned as the drivers gave them; IsData,
// IsUnavailable and IsCommitUnknown tell them apart. When the connection breaks while the commit is under way, nobody knows whether it was stored: the
// error is IsCommitUnknown, nothing is tried again, and the caller has to look. The AfterCommit functions run then
// too: they wake, and a wake that was not needed does no harm.
//
// Connections to PostgreSQL lead to the primary, those for reading too, unless the URL says target_session_attrs=any. A write
// that meets a read-only session, as it does where a standby was taken for the primary, gives the connection up and is tried
// again on another; the others are asked before their next use. If none takes writes, the error is IsUnavailable.
//
// Files of SQLite are made for their owner alone. What cannot be opened is left as it was, without a lock beside it.
//
// A statement waits a few seconds for a lock, in a Lane a tenth of a second, and half a minute for its end; a connection whose server went silent is
// given up after half a minute. The URL of a PostgreSQL database may set other limits (lock_timeout and so on).
//
// A notification is lost when the process ends between the commit and the sending, or while a connection is away. Nothing
// else is lost with it: it says that something happened, which the database knows, so it costs whoever waits for it one
// turn of looking without. When listening begins again, and when a sender comes back that had to give something up,
// everyone is told to look at everything; also when a replica that was alone, and told nobody what it did, learns that somebody
// has come. A replica that stops, dies or hangs loses its turns to the others: at once when
// its connection ends, after half a minute when it does not. Both need a session of their own, which a proxy that shares
// sessions between clients does not give.
package database
