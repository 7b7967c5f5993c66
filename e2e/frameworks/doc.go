// Package frameworks holds the SDKs' adapters for agent frameworks to one bar: the framework's real package, a scripted model, a server
// in a process of its own on each engine, and agents that are killed. `make test-frameworks` runs it, because the frameworks are large.
//
// Each language has a program sdk/LANGUAGE/frameworks/run. Without an argument it prints the names of its frameworks, one in a line;
// with a name it tests that framework, on the server that the environment names.
package frameworks
