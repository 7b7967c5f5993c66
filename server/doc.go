// Package server is the transport: it makes one contract, proto/openintent/v1, answer over gRPC and over REST, and knows
// who calls. What a call means is decided by the domain rooms that wire.go puts together.
//
// # Two faces, one path
//
// The REST face is a gateway that turns a request into the same protobuf call and dispatches it in the process, through
// the same interceptors. So identity, validation, errors, metrics and the log are written once and cannot differ:
//
//	gRPC port ──────────────────────────┐
//	                                    ├─ interceptors ── services of the rooms ── database
//	HTTP port ── gateway ── in-process ─┘
//	     └────── /healthz /readyz /metrics, discovery and documents (no key needed)
//
// # A call, step by step
//
//  1. It is counted and timed, and given a request id; its outcome is logged (never payloads, never keys).
//  2. Panics become an INTERNAL error; the stack goes to the log.
//  3. policy.go must list the method; a method that is not listed is refused.
//  4. While the server stops, new calls are refused with UNAVAILABLE.
//  5. The API key and the agent name become a caller.Caller in the context. A call that waits ends when its key is removed.
//  6. The headers If-Match and Idempotency-Key become the request's fields.
//  7. The request is validated by the rules in its proto.
//  8. The service runs. Whatever error comes back, from here or from any step above, is turned into a status in one
//     place: toStatus.
//
// Over both faces all this comes before the request is read, but for steps 6 and 7. Over gRPC earlyRegistrar sees to it.
//
// # What others can make the server hold
//
// memory.go counts, by key and in all, the bytes of requests that have not arrived in full and of answers that clients have not
// taken. Over gRPC connection.go follows the frames of each connection, since gRPC does not tell what it holds; connections.go
// refuses the largest requests of whoever is over the bounds, and whatever takes too long. Over REST the body's reader counts,
// and slowwriter.go gives each piece of an answer a deadline. Streams that need no key are bounded in public.go.
//
// # Failure
//
// A refusal is a fault.Fault; anything else that a service returns is INTERNAL, its text logged and never shown. Client
// refusals are logged at the level info, failures of the server at warn or error, successes at debug.
//
// # Stopping
//
// When Run's context ends, health says NOT_SERVING and /readyz 503, calls that wait (asks, streams) end with UNAVAILABLE
// and may be tried again elsewhere, all other calls run to their end, and the program is down within the stop timeout.
// Whatever was acknowledged was committed before, so a stop that has to cut calls off loses nothing.
package server
