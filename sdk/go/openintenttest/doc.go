// Package openintenttest is a test kit for those who write agents: a server in the test, time that the test moves, and peers that follow a
// script.
//
//	func TestMyAgent(t *testing.T) {
//		server := openintenttest.Start(t)
//		server.Peer("data-agent", "").Answers(map[string]any{"answer": "v2.3"})
//		...
//		server.Advance(time.Minute)
//	}
//
// Start finds the server's program: the one that OPENINTENT_PROGRAM names, or openintentd or openintent on the PATH. The server has free ports
// and a database in memory, and ends with the test. Its time stands: what waits for a time, such as the end of an Ask, waits for Advance. The
// server's log is printed if the test fails.
package openintenttest
