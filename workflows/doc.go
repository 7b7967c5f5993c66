// Package workflows reads workflow files and brings the channels of an intent to what a file says.
//
// A workflow file is YAML that several tools read; this package reads what concerns channels (RFC-0021, "YAML Workflow
// Integration") and leaves the rest to the others:
//
//	version: "1.0"                      or   openintent: "1.0"
//	intent: {title: ...}                     info: {name: ...}
//	                                         workflow: {...}
//	channels:
//	  NAME: {members, member_policy, audit, ttl_seconds, max_messages, history, task_id}
//	agents:
//	  ID: {on_message: [{channel, handler}]}
//
//	file --Parse--> File --Compare(with the open channels)--> []Change --Apply--> Result
//
// What must hold:
//
//   - A file is the whole truth about the channels that it names: what it leaves out has its default. Channels that it does
//     not name are left alone, and nothing is ever closed.
//   - Applying a file twice changes nothing the second time, on whichever intent: the one that the caller or the file names,
//     or the one that an earlier run made, which carries the workflow's name in its constraints.
//   - Members are added and removed one by one, never replaced as a list, so that what others do at the same time stays.
//   - A dry run makes only calls that read.
//
// What happens on failure: a file with mistakes is refused before anything is asked of a server, with all of its mistakes
// and their places at once. When a call fails in the midst of applying, the Result says what was done until then; a further
// run does the rest. Two first runs at the same time may make two intents; every later run takes the older one.
package workflows
