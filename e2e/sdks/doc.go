// Package sdks runs the shared scenarios (sdk/scenarios) with the SDKs of all languages against running servers, and
// has the SDKs talk with each other.
//
// A Stage is what a suite runs on: a server on SQLite, or two replicas on one PostgreSQL, with an endpoint through
// which the suite restarts and kills the first one. The suite learns all addresses from its environment, so any
// program can be a suite:
//
//	go run ./e2e/sdks/stage -engine postgres -- go test ./sdk/go
//
// The tests here run the languages' suites this way, Go's on each engine, and all of them in `make engines`. One more test is mixed: Python asks, TypeScript
// answers, and Go watches. Another is a new user's first hour (hour_test.go), with an agent in each language that must
// say what happens to it.
package sdks
