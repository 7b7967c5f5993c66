// Package jsonvalue holds the free-form JSON of the protocol (payload, metadata, state) as validated text, and reads JSON text.
//
// Both faces bring free-form JSON as a google.protobuf.Struct: gRPC sends one, and the server makes one from what Check has
// accepted of a REST body. A room turns it into an Object once, with FromStruct. What the server writes itself, it writes
// with a Builder. As an Object it travels through the rooms, the store and the log, in compact UTF-8 bytes, and becomes a
// Struct again in the answer.
//
//	gRPC ------------+                                +--> store, event log: the bytes as they are
//	                 +--> Struct --FromStruct--+      |
//	REST --> Check --+                         +--> Object --> fingerprint, hash: Canonical
//	                      Builder, Apply ------+      |
//	                                                  +--> answer on both faces: Struct
//
// ParseObject makes an Object of text directly; the command line reads payloads with it.
//
// # What holds
//
// Check accepts the text of every Object: one object, valid UTF-8, no U+0000, no lone surrogate, no key twice in one object,
// at most MaxDepth levels, and only numbers that a double can carry. Those are integer literals (no point, no exponent) within
// ±(2^53−1), and other literals that neither overflow nor become zero unless they are zero. A number outside is refused, and
// never rounded to another order of magnitude. A Struct holds doubles, so of 0.1000000000000000055 it keeps as many digits as a
// double does.
//
// Bytes that come back from the store are converted to Object as they are. Check, ParseObject, Canonical and Struct take text
// of any origin. The other functions take text that was validated, and may panic on anything else.
//
// # What happens on failure
//
// Every refusal is a *Violation: the path of the offending value and one sentence. It unwraps to a fault of kind
// Invalid, so that a room may return it as it is.
package jsonvalue
