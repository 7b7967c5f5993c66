// Package demo plays a small team of scripted agents on a server, so that somebody who has just got the program sees what it does. It calls
// no model, and it is a client like any other: everything that it does, anybody can do with the Go SDK.
//
// The team prepares releases of a shop, one after the other, until the context ends:
//
//   - the planner asks the builders, who hold a role, for a build. One of them claims the request and answers (builders.go);
//   - a builder hands its change over to the reviewer, who says that it works on it, and answers (reviewer.go);
//   - the planner asks a person, who is called "you", whether the release may go out, and waits for it (planner.go);
//   - the night shift has died: a task and a question wait for it, and nobody else knows of them (nightshift.go).
//
// A call that fails ends the play with its error, unless the context has ended.
package demo
