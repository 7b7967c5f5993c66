// Package workflows reads workflow files and changes the channels of an intent to what a file says.
//
// A workflow file is YAML that several tools read. This package reads the part about channels (RFC-0021, "YAML Workflow
// Integration") and leaves the rest to the other tools:
//
//	version: "1.0"                      or   openintent: "1.0"
//	intent: {title: ...}                     info: {name: ...}
//	                                         workflow: {...}
//	channels:
//	  NAME: {members, member_policy, audit, ttl_seconds, max_messages, history, turn_budget,
//	         conversation_budget, task_id}
//	agents:
//	  ID: {on_message: [{channel, handler}]}
//
//	file --Parse--> File --Compare(with the open channels)--> []Change --Apply--> Result
//
// What must hold:
//
//   - A file fully describes the channels that it names: a setting that it leaves out has its default. Apply does not touch
//     channels that the file does not name, and never closes a channel.
//   - Applying a file a second time changes nothing. This is true for an intent that the caller or the file names, and for an
//     intent that an earlier run made, which carries the workflow's name in its constraints.
//   - Apply adds and removes single members and never replaces the list, so it keeps simultaneous changes by others.
//   - A dry run makes only calls that read.
//
// What happens on failure: Parse refuses a file with mistakes before any call to a server, and reports all mistakes and their
// places together. If a call fails while the file is applied, the Result says what was done before; another run does the rest.
// Two simultaneous first runs may make two intents; every later run takes the older one.
package workflows
