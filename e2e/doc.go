// Package e2e tests the whole server from outside, the way clients use it: over real sockets, on both engines.
//
//   - model_test.go and history_*_test.go compare random histories with a plain model of the rules. Package model is
//     also the shortest statement of these rules.
//   - faults_test.go and replicas_test.go put a load (load_test.go) on servers. The servers are killed, disconnected,
//     stopped, deprived of their commits' acknowledgements, or run as two on one database. The tests check that no
//     acknowledged message is lost or doubled.
//   - pipelined_test.go kills servers that receive streams of messages, and checks that each message is stored once and
//     in order.
//   - races_test.go lets two calls race and accepts only results that some order of the calls explains.
//   - attention_test.go asks what messages ask of their recipients, and says what became of them.
//   - browsers_test.go sends what browsers send for pages of own, listed and foreign origins.
//   - storage_test.go reads what the servers left in the database and checks what must be true whatever happened.
//
// Package harness runs the servers. The other packages in this folder run the documents' examples, send what hostile
// clients send, try the SDKs' test kits, hold brakes, windows and digests to their promise, play the collector of traces, and drive the server with
// the published Python package.
package e2e
