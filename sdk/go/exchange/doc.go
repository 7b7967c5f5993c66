// Package exchange lets a busy client make its calls on one stream (ExchangeService.Exchange), which costs client and server less than a call
// of its own for each.
//
// A Connection stands between generated clients and their gRPC connection. It carries sends, replies, asks, reactions and acknowledgements;
// all other calls pass. Calls look the same either way: the same answers, the same errors.
//
//	connection, err := grpc.NewClient(...)
//	messages := openintentv1.NewMessageServiceClient(exchange.Over(connection))
//
// A client that makes a call now and then makes it as a call of its own: no stream is opened before two calls overlap, or ten come within a
// second. Each identity has a stream of its own: that is what the calls' metadata says. A stream without calls is closed after half a minute,
// and after ten minutes calls go to another one, so that a load balancer sees new streams.
//
// When a stream is lost, its calls without an answer fail with UNAVAILABLE, as calls of their own do when a connection is lost. Whoever
// makes them again does so under the same idempotency keys. The client of package openintent does.
//
// Files: connection.go (which call goes where), stream.go (a stream and its calls), calls.go (which calls there are).
package exchange
