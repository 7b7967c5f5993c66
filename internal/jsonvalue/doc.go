// Package jsonvalue holds the free-form JSON of the protocol (payload, metadata, state) as validated text, and reads JSON text.
//
// Both interfaces bring free-form JSON as a google.protobuf.Struct: gRPC sends one, and the server makes one from the part of a
// REST body that Check has accepted. A room turns the Struct into an Object once, with FromStruct. The server writes objects of
// its own with a Builder. An Object goes through the rooms, the store and the log as compact UTF-8 bytes, and becomes a Struct
// again in the answer.
//
//	gRPC ------------+                                +--> store, event log: the bytes as they are
//	                 +--> Struct --FromStruct--+      |
//	REST --> Check --+                         +--> Object --> fingerprint, hash: Canonical
//	                      Builder, Apply ------+      |
//	                                                  +--> answer on both interfaces: Struct
//
// ParseObject makes an Object of text directly; the command line reads payloads with it. WriteLines and WriteYAML write checked text for people.
//
// # What holds
//
// Check accepts the text of every Object: one object, valid UTF-8, no U+0000, no lone surrogate, no key twice in one object,
// at most MaxDepth levels, and only numbers that a double can represent. Those are integer literals (no point, no exponent)
// within ±(2^53−1), and other literals that neither overflow nor become zero unless they are zero. Check refuses any other
// number, and never rounds one to another order of magnitude. A Struct holds doubles, so it keeps only as many digits of
// 0.1000000000000000055 as a double does.
//
// Bytes that come back from the store become an Object as they are. Check, ParseObject, Canonical and Struct take text of any
// origin. The other functions take text that was validated, and may panic on any other text.
//
// # What happens on failure
//
// Every refusal is a *Violation: the path of the bad value and one sentence. It unwraps to a fault of kind Invalid, so a room
// may return it as it is.
package jsonvalue
