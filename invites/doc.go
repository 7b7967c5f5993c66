// Package invites lets those who manage a channel invite guests to it: agents that have nothing else to do with its intent.
//
// # Model
//
// An invite is a key of package keys whose scope is one channel. Its bearers act under names that begin with caller.GuestPrefix,
// which nobody else may use. A guest is a member of the channel, and needs no access to the intent:
// package channels decides that a guest takes part where it is listed, and nowhere else.
//
//	CreateInvite --> key --> first use of a name: Join --> name taken, member of the channel
//	RevokeInvite, or the invite's time is over --> no key, no members
//
// # What holds
//
//   - Only who manages the channel makes, sees and ends its invites. A guest never manages one.
//   - A name belongs to one invite for ever, on all servers of the database. So nobody inherits what was sent to a guest before.
//   - No more guests come with an invite than it lets in. The key's row is locked while a name is taken, so of two bearers who
//     come for the last place simultaneously, one is refused.
//   - A guest comes with its first call: the name is taken and the membership begins in one transaction. A revocation ends the key
//     first, and then the memberships, before it answers.
//   - Heads of intents are locked before keys.
//
// # What happens on failure
//
// If a commit's outcome is unknown, CreateInvite fails, and nobody learns the secret that may have been stored. The sweep takes
// guests off the member lists when their invite has expired, when the operator has revoked it as a key, and when its revocation
// was cut off. Until then they are listed, but cannot call.
package invites
