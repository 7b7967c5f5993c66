// Package keys keeps API keys in the database, beside those of the server's configuration.
//
// # Model
//
// A key has a secret that somebody presents, and settings that say what the bearer may do. The operator makes keys, lists
// them, gives them new secrets and revokes them. This room stores them and knows who may call it. It does not decide who
// calls: package server reads the live keys from here, remembers them, and identifies callers by them.
//
//	CreateKey, RotateKey, RevokeKey --> rows + tag --> Tag: has anything changed? --> Live: all keys that are accepted
//
// A secret is `oi_`, 32 random bytes in base 62, and a checksum. Programs that search texts for secrets find it by its form,
// and the server refuses most of what is no secret without a look at the database.
//
// # What holds
//
//   - A secret is answered once, when it is made. The database has only its SHA-256 digest, and no answer contains a digest.
//   - A key either names agents or was explicitly made an operator's. So a forgotten list of agents makes no operator. A key
//     that only reads, or belongs to a person, is never an operator's.
//   - Each change of a key that matters to its bearers changes the tag in the same transaction. A tag is random, so it also
//     changes if the database loses commits and goes on from before them.
//   - A rotation with a grace leaves two secrets valid, and never more.
//   - A revoked key stays revoked, and keys are never deleted.
//   - At most MaxLive keys are accepted at a time, so a server can remember all of them. Invites do not count; they have a bound
//     of their own, by the guests that may come with them.
//   - A key with a scope is never an operator's. A key's scope never changes.
//   - An invite is a key with one channel as its scope, which package invites makes. Its agents are its guests. They grow until
//     as many have come as may, and a guest's name is never given again.
//
// # What happens on failure
//
// If a commit's outcome is unknown, CreateKey and RotateKey fail, and nobody learns the secret that may have been stored. The
// caller lists the keys, and revokes or rotates the one that nobody has the secret of. The time of the last use is noted as well
// as possible: it is missing if the server ends first.
package keys
