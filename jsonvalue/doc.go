// Package jsonvalue holds the free-form JSON of the protocol (payload, metadata, state) as validated text.
//
// An Object is made once, at intake: by ParseObject from REST or by FromStruct from gRPC. From then on it travels as
// compact UTF-8 bytes through rooms, store, audit log and REST, and becomes a google.protobuf.Struct again only at
// gRPC's edge.
//
//	REST body --ParseObject--+                  +--> store, audit log, REST: the bytes as they are
//	                         +--> Object -------+--> fingerprint, hash, signature: Canonical
//	gRPC Struct -FromStruct--+                  +--> gRPC: Struct
//
// # What holds
//
// The text of an Object is always accepted by Check: one object, valid UTF-8, no U+0000, no lone surrogate, no key
// twice in one object, at most MaxDepth levels, and only numbers that a double carries: integer literals (no point, no
// exponent) within ±(2^53−1), nothing that overflows, nothing but zero that becomes zero. A number is refused, never
// rounded to another order of magnitude; the digits beyond a double's precision in 0.1000000000000000055 are kept as
// text and are lost only in Struct and Canonical.
//
// Bytes read back from the store are converted to Object as they are. Check, ParseObject and Canonical take text of any
// origin. The other functions take validated text, and may panic on anything else.
//
// # What happens on failure
//
// Every refusal is a *Violation: the path of the offending value and one sentence. It unwraps to a fault of kind
// Invalid, so that it may be returned from a room as it is.
package jsonvalue
