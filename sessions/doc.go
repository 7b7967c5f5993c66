// Package sessions keeps who is signed in at the web console.
//
// # Model
//
// A session stands for a key, or for what an identity provider has said, and for one agent. Two secrets belong to it: the cookie, which
// the browser keeps where no script reads it, and the secret of the page, which the page keeps where no other port of the host gets it.
// They count only together. This room stores sessions and knows which of them are over. It does not decide what they may do: package
// server finds the key of a session, and the session may do what that key may.
//
//	Begin --> cookie + secret --> Find, with both --> session --> End, or its time is over
//	Await --> cookie + code   --> TakeOver, once  --> secret      (by an identity provider)
//
// A cookie is random bytes and a signature of them by the seal, which all servers of a database share. So a cookie that somebody made up
// costs no look at the database.
//
// # What holds
//
//   - The database has the secrets as SHA-256 digests only. What renews a session at its identity provider is encrypted with the cookie.
//   - A session ends 12 hours after its last use, and 7 days after its beginning. Uses are noted once a minute, so it may end a minute
//     early. A stream that stays open is no use.
//   - A session knows which of its key's secrets it began with. It ends when that secret is not accepted any more.
//   - A key has a bounded number of sessions. One more ends the oldest of the agent that has most of them.
//   - A code works once, and only with the cookie that came with it.
//   - Only one server renews a session at a time. The others go on with what is known, for a few seconds.
//
// # What happens on failure
//
// If a commit's outcome is unknown, Begin fails and nobody learns the secrets of a session that may have been stored. Uses are noted as
// well as possible. If the answer of an identity provider to a renewal is lost, the session may end early, because a provider may accept
// what renews it only once.
package sessions
