// Package sdks lets the SDKs of all languages tell the shared scenarios (sdk/scenarios) against running servers, and lets
// them talk with each other.
//
// A Stage is what a suite runs on: a server on SQLite, or two replicas on one PostgreSQL, with an endpoint by which the suite
// restarts and kills the first. The suite learns where everything is from its environment, so that any program can be one:
//
//	go run ./e2e/sdks/stage -engine postgres -- go test ./sdk/go
//
// The tests here run each language's suite on each engine that way, and the mixed one: a question from Python, answered
// in TypeScript, watched from Go.
package sdks
