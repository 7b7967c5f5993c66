// Package database opens the store, SQLite or PostgreSQL, and runs transactions on it.
//
// # Model
//
// A DB is opened from a URL; its schema is brought up to date under a lock before Open returns, unless the caller forbids it. All work happens in
// closures that get a Tx:
//
//	Write          changes; commits when the closure returns nil, rolls back on an error or a panic
//	Read           several statements that see one snapshot; always rolled back; for the server's own work
//	ReadStatement  one statement, which is a snapshot by itself; also for the server's own work
//	ReadFor        a Read for a caller, or one that may take long; such reads come in turn
//	ReadHeavy      a ReadFor that may take longer or return more, such as a page of a list of everything
//	Lane           writing over a separate connection, for a caller that must never wait behind transactions that wait for locks
//
// Within a transaction there are two ways to access a table, for different kinds of statements:
//
//	gorm (Tx.Gorm)             a room's own rows, as models of one table: one row is created, read, changed or deleted by its
//	                           key, or rows are read or deleted by a condition
//	Statement (Tx.Pipeline)    everything else: joins, sets, counts over tables, lists of ids, many rows in one statement, and
//	                           all statements that go with others in one round trip
//
// So rooms write SQL by hand only for Statements, and give gorm models and conditions (the linter refuses its Raw and Exec in
// rooms). ReadValue and ReadValues make the usual small Statements. Tx.Pipeline sends several in one round trip, Tx.Insert and
// Tx.Update write many rows with one, and Tx.SendWithCommit saves the last round trip; with Lane.WriteAtOnce that is the only
// one. A transaction that decides by rows that were read earlier names them with Tx.UpdateExpected and Tx.RefuseChanged. The
// database then refuses the transaction if the rows have changed.
//
//	Write --> fair gate --> [BEGIN + first Pipeline] --> ... --> BeforeCommit --> [SendWithCommit + COMMIT] --> AfterCommit
//
// A Write may be on somebody's account (ChargeTo), which is told how many rows it added or changed, and their bytes.
//
// The two engines differ only in the two implementations of dialect. No other package imports a driver.
//
// Several replicas may work on one PostgreSQL database. A Notifier sends notices of what happened to the other replicas, and
// receives theirs. ByLeader lets only one replica, the leader, do work that every replica would do. On SQLite there is only one process, so
// neither has anything to do. A replica that is alone on PostgreSQL sends no notices.
//
//	Write --> AfterCommit --> Tell --> [pending, bounded] --> NOTIFY ==> LISTEN --> Heard, or Unheard: look at everything
//
// Two functions work beside the servers of a database, without opening it as they do: Backup copies a SQLite file, and ReadSnapshot
// reads. An Invariant is a rule that the rows of a room keep; with ReadSnapshot it is checked (cmd/openintent/check.go).
//
// PostgreSQL plans each statement once for all arguments, by its statistics. Therefore the settings of the sessions allow only
// plans that use indexes, the schema hides from PostgreSQL how few rows the usual intent has, and RenewStatistics renews the
// statistics of growing tables early. A test checks that every statement then uses its whole key (e2e/soak).
//
// # Releases
//
// Programs of two releases may work on one PostgreSQL database (docs/upgrading.md). The tables of applied migrations, the books, say what
// was applied and by which releases' programs (schema.go). A program refuses a database that programs of two later releases have brought
// up to date. Otherwise it applies what is missing (migrate.go): one program at a time, each migration in a transaction of its own, and
// none waits for a table for more than two seconds at a time. Migrate and Inspect do that, or say what it would do, without a DB.
//
// # What holds
//
//   - A statement that fails dooms its transaction on both engines: all further statements and the commit fail, even if the
//     closure overlooked the error. Without this rule, SQLite would commit the half that worked.
//   - Write runs at READ COMMITTED on PostgreSQL, and one at a time on SQLite. Lock, then read, then decide.
//   - A Write that came first gets its connection first. Reads and writes have separate pools, so many readers cannot delay
//     the writers.
//   - Callers' reads come in turn (turns_of_reads.go): the keys in turn, and within a key its agents. At most 10,000 of one key wait for ReadFor, and
//     40,000 in all; for ReadHeavy these are 64 and 256. Further ones are refused. What the server reads once for many callers has turns
//     of its own, as a key has. A key that has not had its turn in this round comes before those that had, and none has more than half of the
//     line's connections. On SQLite a read that may look at much gives way between its portions (Tx.GiveWay).
//   - ReadFor takes at most three quarters of the connections for reading (connections.go), heavy reads have two separate ones, and Ping has
//     one. So however much callers read, a Read, a ReadStatement, a Write and Ping never wait for them. On SQLite, which computes in this
//     process, callers' reads together also leave a processor, if there is more than one; reads and heavy reads then come in turn.
//   - When the context of ReadFor or ReadHeavy ends, the read leaves the line, or its statement is interrupted. PostgreSQL's driver gives the
//     connection up for that; SQLite's statements end alone (sqlite_interrupt.go).
//   - The closure of a read begins no other read for a caller, which would wait for a turn while it has one.
//   - Read, ReadStatement, ReadFor and ReadHeavy cannot write.
//   - The closure of Write may run several times and must begin afresh each time.
//   - Times are bigint microseconds (Micros, Time); text compares by its bytes.
//   - Notifications are sent after the commit, over a separate connection that does not wait for the disk. Within the
//     transaction they would make all commits of the server wait for one another. At most one batch of notifications is under
//     way, and Tell never waits for it.
//
// # What happens on failure
//
// After a conflict with another transaction (serialization, deadlock, lock timeout, busy file), Write tries again a few times,
// with pauses. A Lane does not, because its caller has another way. At most half of the connections for writing wait for the
// locks of intents; further transactions give their connections back and try again. A connection that was lost while it was
// idle in the pool is replaced before anything has happened on it. Other errors are returned as they came from the drivers;
// IsData, IsUnavailable and IsCommitUnknown classify them.
//
// If the connection breaks while the commit is under way, nobody knows whether the transaction was stored. Write then returns
// an error that IsCommitUnknown recognizes and does not try again; the caller has to look. The AfterCommit functions run in
// this case too: they only wake readers, and an unnecessary wake-up does no harm.
//
// Connections to PostgreSQL, even those for reading, lead to the primary, unless the URL says target_session_attrs=any. A write
// may find its session read-only, because a standby was mistaken for the primary. Write then gives the connection up and tries
// again on another one; all other connections are checked before their next use. If no server takes writes, IsUnavailable
// recognizes the error.
//
// If the URL names several hosts, a watch asks each of them every second whether it is the primary (postgres_primary_watch.go). When another
// one has taken over, the watch closes all connections that lead elsewhere. So nothing waits for a server that hangs, and nothing
// goes on with an old primary that does not know that it was replaced.
//
// Files of SQLite are made for their owner only. A file that cannot be opened is left unchanged, without a lock file beside it.
//
// A statement waits a few seconds for a lock (in a Lane a tenth of a second) and may run for half a minute. A connection is
// given up half a minute after its server went silent. The URL of a PostgreSQL database may set other limits (lock_timeout and
// so on).
//
// A notification is lost if the process ends between the commit and the sending, or while a connection is down. Nothing else is
// lost with it, because it only says that something happened, and the database has what happened. The loss only means that a
// waiting reader finds it at its next regular look. All replicas are told to look at everything in three cases: when listening
// begins again, when a sender works again after it had to drop notices, and when a replica that was alone, and therefore sent
// no notices, learns that another one has come.
//
// A leader that stops, dies or hangs is followed by another replica: immediately if its connection ends, and otherwise after
// half a minute. Notifications and leaders each need a session that belongs to them alone. A proxy that shares sessions between
// clients does not provide this.
package database
