// Package e2e tests the whole server from outside, as clients meet it: over real sockets, on both engines.
//
//   - model_test.go and history_*_test.go compare random histories with a plain model of the rules (package model), which
//     is also a short reading of them.
//   - faults_test.go and replicas_test.go put a load (load_test.go) on servers that are killed, cut off, stopped, robbed of
//     their commits' acknowledgements, or two on one database, and look that nothing acknowledged is lost or doubled.
//   - pipelined_test.go kills servers under streams of messages and looks that each message is there once and in its order.
//   - races_test.go lets two calls race and accepts only what some order of them explains.
//   - storage_test.go reads what the servers left behind and checks what must hold whatever happened.
//
// The servers come from package harness. The packages beside this one read the documents, send what strangers send, and
// drive the server with the published Python package.
package e2e
