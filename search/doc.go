// Package search finds messages by their words.
//
// # Model
//
// The index says which words occur in which message. A message of the index is a document. Its number is the time at which the message
// was sent, made distinct, so the newest document has the highest number, across all intents. The database keeps the words
// (internal/database/word_index.go); this room keeps which message a document is, and up to which position each intent's log is in the index.
//
//	log --> read (read_log.go) --> words and marks (document.go, marks.go) --> store (store.go)
//	query --> words and marks --> candidates, newest first --> sight, filters --> text --> page (find.go, sight.go)
//
// The index only names candidates. Whether the caller may see a message, and whether its text has the words, is decided when somebody
// searches, by the message's row and by the one rule of sight. So the index may lag or have too much, and still nobody finds what is not
// for them, or what is gone.
//
// # Indexed messages
//
// A search that names an intent keeps it in the index for seven days (keepers.go), if its caller may search there (searchable.go). One
// replica at a time reads the logs that are kept and fills the index, in transactions of its own (indexer.go). No send does anything for
// it. What comes between two runs goes into the index together, because a transaction costs as much as some hundred messages. On SQLite
// transactions are smaller, as sends wait for them. Other logs are read while the server has nothing else to do (fill.go). After each piece
// the index rests (pace.go).
//
// Of each log the index has a span (span.go): everything up to a cursor, but for a hole. When much is missing at the end, the cursor leaps
// there and leaves a hole, which is filled from above. So the newest come first, and an answer can say between which times all is indexed
// (extent.go).
//
//	0 ─────── low ············· high ─────── through ····· last
//	    has         the hole          has            next
//
// An edit or a deletion is an annotation in the log, by which the index reads the message again. Messages that are removed leave no
// annotation; the transaction that removes them notes them for the index (removals.go).
//
// # What holds
//
//   - The span of a log changes in the transaction that stores what lies in it, and the index has nothing of what lies after its cursor. So
//     a crash loses nothing and repeats nothing. In a hole there may be some: the leap before may have been followed by another one, and
//     programs of release 0.2 know no holes. So what is read into a hole replaces what is there.
//   - A change of a message outside the span is not indexed: the message will be read as it is then.
//   - Each change of the index makes another version, and is refused to whoever has read another version. So two replicas that take
//     themselves for the one cannot undo each other's work, and what was removed does not come back.
//   - A page looks at a bounded number of candidates, in a bounded time, and says if it left some out. Searches use the connections for
//     heavy reads, which keys get in turn. A key has a bounded number under way, of which one runs.
//   - The words of a query are the only part of it that reaches the database, and they consist of letters and digits.
//
// # What happens on failure
//
// A run that fails begins anew. An erasure does not wait for a run: it takes out itself what was deleted (erasure.go). If the database
// loses commits, it loses those of the index as well; if a log is shorter than the index says, the index forgets the rest. If search is
// switched off, the index is removed; switched on again, it is filled from the beginning.
package search
