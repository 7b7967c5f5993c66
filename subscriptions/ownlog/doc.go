// Package ownlog streams each agent's own log, which has everything that reaches the agent. Subscribe streams it in its agent scope.
//
// # Model
//
// An agent's own log is a subscription with the name `default`, and is created when it is first used. All streams of the agent, on all
// replicas, share it. Each replica has one gatherer for it (numbers.go), which numbers what is new and tells the streams. Each stream is a
// cursor over the numbers (stream.go). It takes what was just numbered (recent.go), or reads it. Nobody acknowledges its deliveries, and
// they are kept for a day. A cursor that is older than the oldest delivery continues there. The log has no filter; each stream has one. When
// the agent gains access to messages, its streams deliver the open requests that lie before their cursors and are not in the log. These
// deliveries get no new numbers (backfill.go).
//
//	intents' logs ──look──> numbers ──┬──> stream
//	                                  └──> stream
//
// # What holds
//
//   - Numbers have no gaps and rise in commit order, and a cursor over them skips nothing.
//   - A log has a goroutine only while it looks, and a stream's large stack goes when it waits.
//   - The log numbers annotations from the first stream on that includes them. Streams that do not include them pass over theirs.
//
// # Failure
//
// While the database is unavailable, streams wait. When the database loses commits, a stream that has sent a lost number ends, also if
// another replica has given the number again (anchor.go). The others go on with what is numbered now.
package ownlog
