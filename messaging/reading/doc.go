// Package reading reads what is stored, as one moment had it. Every way to receive begins here: a Snapshot holds the intent's head,
// its rules, the channel and the agents' records, and message.Visible decides for each message that is read in it.
//
//   - snapshot.go: one channel or one intent; snapshots.go: several channels of several intents
//   - page.go: messages, in pages that are bounded by rows and by bytes
//   - log_page.go: a part of an intent's log, where messages and logged events interleave, and the log's copy of an audited
//     message comes with it or not at all
//   - entry.go and filter.go: what readers are given of a log, and how they narrow it
//   - handover.go: a snapshot that needs no reading, because the writer has just handed over what it stored
//   - reach.go: in which intents something may reach an agent
//
// A handover is used only where it alone tells what a look would have shown:
//
//   - It begins right after the last message that was seen, so nothing that another replica stored lies in between. An
//     asker takes it only when its request was unanswered under the lock until then.
//   - Its epoch is the one whose rules are known. The head was read and written under the lock, so no closing, revocation or
//     change of membership can have passed unseen before the commit.
//   - The viewer's sight does not depend on agents' records that may have changed. That holds for messages to one agent, whose
//     sender and addressee were read under the lock and are as they were; and, where membership is not listed, for those to
//     everyone.
//   - It is of a moment ago, and the outcome of its commit is certain.
package reading
