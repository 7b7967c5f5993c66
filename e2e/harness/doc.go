// Package harness runs servers for end-to-end tests. Start runs one within the test's process, where a test can set
// the clock and inject faults. StartProcess runs the built program in a separate process, which can be killed. Tests
// reach both over real sockets only.
//
//	harness.Each(t, func(t *testing.T, h *harness.Server) {
//		alice := h.As("alice")
//		intent, err := alice.Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{Title: "Report"})
//		...
//		answer := alice.REST(t, "GET", "/v1/intents/"+intent.GetId(), "")
//	})
//
// A server keeps its data when it is stopped, killed or restarted. Its callers stay valid, because they connect to
// the server's current address. Everything ends with the test. A failed test prints the end of its server's log, and
// the last warnings and errors before it.
//
// A test package that starts processes runs its tests through Main, which removes the built program.
package harness
