// Package harnesses connects real harnesses to a server: programs of other makers, from npm's registry, each with its entry of
// docs/doors/mcp.md and with a model that follows a script. `make harness` runs it; `go test ./...` only checks the model, and the
// entries of the page.
//
// A model on this machine speaks the protocols of the makers' models (chat.go, responses.go, gemini.go). Each of them turns a request
// into a turn: what the harness's user said, and what the calls of tools since then gave. A play (script.go) decides from that alone
// what the model does next, so the model keeps nothing between requests. It remembers the turns for the tests, with their times.
package harnesses
