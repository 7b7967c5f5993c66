// Package scenarios runs the shared scenarios with the Go SDK; sdk/scenarios/README.md describes what a scenario may
// contain.
//
// A File is read strictly: anything that the runner does not know makes it fail. Each file becomes a story: a fresh
// intent, the agents, and then the steps one after the other. The acting agent's client does each step, and the
// result is compared with what the file expects. Everything that a story started ends with it.
package scenarios
