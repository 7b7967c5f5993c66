// Package server is the transport: it serves one contract, proto/openintent/v1, over gRPC and over REST, and finds
// out who calls. The domain rooms, which wire.go puts together, decide what a call means.
//
// # Two faces, one path
//
// The REST face is a gateway. It turns a request into the same protobuf call and dispatches it within the process,
// through the same interceptors. So identity, validation, errors, metrics and the log are written once and cannot
// differ:
//
//	gRPC port ──────────────────────────┐
//	                                    ├─ interceptors ── services of the rooms ── database
//	HTTP port ── gateway ── in-process ─┘
//	     └────── /healthz /readyz /metrics, discovery and documents (no key needed)
//
// The admin address (admin.go), if there is one, has health, metrics and profiles for whoever runs the server. It knows no calls.
//
// # A call, step by step
//
//  1. It is counted and timed, and given a request id; its outcome is logged (never payloads, never keys). If the environment names
//     a collector of traces, it gets a span (spans.go), and so does what becomes of its message (spans_messages.go).
//  2. Panics become an INTERNAL error; the stack goes to the log.
//  3. On a port on loopback, calls for foreign hosts and for foreign pages are refused (host.go; over REST before step 1).
//     policy.go must list the method; a method that is not listed is refused.
//  4. While the server stops, new calls are refused with UNAVAILABLE.
//  5. The API key and the agent name become a caller.Caller in the context. Keys are those of the configuration (keys.go) and
//     those of the database as this server remembers them (stored_keys.go). A token of an identity provider (tokens.go) and a
//     client's certificate (certificates.go) count as keys. A client of the door for MCP that shows none of these is told which
//     provider has tokens (protected_resource.go). A call that waits ends when its key is removed or expires. A
//     read-only key may call only what policy.go says reads.
//  6. The headers If-Match and Idempotency-Key become the request's fields. No text of it may have U+0000 (refuse_zero_character.go).
//  7. The request is validated by the rules in its proto.
//  8. The service runs. Whatever error comes back, from here or from any step above, is turned into a status in one
//     place: toStatus.
//
// On both faces, steps 1 to 5 happen before the request is read. For gRPC, earlyRegistrar arranges that.
//
// An exchange (exchange.go) carries many calls on one stream. Each of them goes these steps, too; only who calls was found out when the stream
// began (exchange_identity.go).
//
// # How much memory others can make the server use
//
// memory.go counts, per key and in total, two kinds of bytes: those of requests that have not arrived in full, and
// those of answers that clients have not read. For gRPC, connection.go follows the frames of each connection, because
// gRPC does not report what it holds. connections.go refuses the largest requests of an account that is over its
// bounds, and everything that takes too long. For REST, the body's reader counts, and slow_clients.go sets a deadline
// for each piece of an answer. streams_without_key.go bounds the streams that need no key.
//
// # Failure
//
// A refusal is a fault.Fault. Any other error from a service becomes INTERNAL; its text is logged and never shown.
// Client refusals are logged at level info, failures of the server at warn or error, successes at debug.
//
// # Stopping
//
// Run's context ends when the server should stop. From then on health reports NOT_SERVING and /readyz answers 503.
// Calls that wait (asks, streams) end with UNAVAILABLE, so clients can try again elsewhere; all other calls run to
// their end. The program exits within the stop timeout. Every acknowledged write was committed before its
// acknowledgement, so a stop that has to cut calls off loses nothing.
package server
