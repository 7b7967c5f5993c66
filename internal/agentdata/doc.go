// Package agentdata finds and erases what the database has of one agent, for an operator who is asked for it.
//
// # Model
//
// The list in every_table.go says of each table of the schema which rows are of an agent, what an export shows of them, and what an erasure
// makes of them or why they stay. A test reads the schemas of both engines and fails when a table or a column is not in the list. So a new
// one cannot be forgotten, and a new secret is not exported by accident.
//
//	list --> export (export.go, row.go): one line of JSON for each row
//	list --> survey (survey.go) --> erase (erase.go): the rooms' own functions, then rows (erase_rows.go), then the index of search
//
// # What holds
//
//   - An export is one snapshot. It changes nothing and keeps no rows in memory, and servers may run meanwhile.
//   - An erasure refuses an agent that is still registered, and one that the database does not know.
//   - It deletes contents, subscriptions and records by the functions of their rooms. Rows that only need to go, it changes under the lock
//     of the intent's head, a bounded number in each transaction, and raises the epoch. So running servers show nothing of it afterwards.
//   - What a hash chain covers stays: events, and with them the messages of audited channels. So do ids in what others wrote or see, and
//     what belongs to all who work on an intent.
//
// # What happens on failure
//
// Each transaction leaves the database whole. An erasure that is interrupted is repeated: it looks for what is there, erases it, and a
// further repeat finds nothing to erase.
package agentdata
