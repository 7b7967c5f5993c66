// Package reading reads what is stored, as it stood at one moment. Every way to receive begins here: a Snapshot holds the
// intent's head, its rules, the channel and the agents' records, and Viewer.Sees decides for each message that is read with it.
//
//   - snapshot.go: one channel or one intent; snapshots.go: several channels of several intents
//   - page.go: messages, in pages that are bounded in rows and in bytes
//   - log_page.go: a part of an intent's log, where messages, logged events and annotations alternate; the log's copy of an audited
//     message comes with the message or not at all
//   - annotations.go: annotations with the facts of their messages, by which Viewer.Sees decides about them
//   - entry.go and filter.go: what readers are given of a log, and how they narrow it
//   - encodings.go: an entry in the forms in which streams send it, made once for all followers
//   - snapshot_from_handover.go: a snapshot that needs no reading, because the writer has just handed over what it stored
//   - catchment.go: the intents from which something may reach an agent; open_requests.go: the open requests in these
//
// A reader uses a handover only when the handover alone shows what a new snapshot would have shown:
//
//   - It begins right after the last message that the reader saw, so nothing that another replica stored lies in between. An
//     asker takes it only when its request had no answer under the lock until then.
//   - Its epoch is one whose rules are known. The head was read and written under the lock, so no closing, revocation or change
//     of membership before the commit can have passed unseen.
//   - Who sees its messages does not depend on agents' records that may have changed. That holds for messages to one agent, if
//     the records of sender and addressee were read under the lock and are as they were. Where membership is not listed, it also
//     holds for messages to everyone.
//   - It is a moment old, and the outcome of its commit is certain.
//
// A durable subscription's stream reads whole logs. It uses a handover of a log only if the commit found the intent's head exactly as
// the stream had read it, so that nothing at all has happened in the intent in between (messaging.FeedFromHandover).
package reading
