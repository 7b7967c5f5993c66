// Package harness runs servers for end-to-end tests: within the test's process (Start), where a test can set the clock and
// inject faults, or as the built program in a process of its own (StartProcess), which can be killed. Either is reached
// over real sockets only.
//
//	harness.Each(t, func(t *testing.T, h *harness.Server) {
//		alice := h.As("alice")
//		intent, err := alice.Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{Title: "Report"})
//		...
//		answer := alice.REST(t, "GET", "/v1/intents/"+intent.GetId(), "")
//	})
//
// A server keeps its data when it is stopped, killed or restarted, and its callers stay valid: they connect to wherever
// the server listens at the moment. Everything ends with the test; the log of a failed test is printed.
//
// A test package that starts processes runs its tests through Main, which removes the built program.
package harness
