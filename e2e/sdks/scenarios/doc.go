// Package scenarios tells the shared scenarios (sdk/scenarios/README.md, which says what they may hold) with the Go SDK.
//
// A File is read strictly: what the runner does not know fails. Each becomes a story: a fresh intent, the agents, and then the
// steps one after the other, each done by the client of whoever acts and compared with what the file expects. Whatever a
// story started ends with it.
package scenarios
