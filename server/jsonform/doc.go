// Package jsonform is the contract's JSON: how messages of the protocol look over REST.
//
//	gRPC message --Encode--> response body, SSE data
//	request body --Decode--> gRPC message, or what is wrong with each field
//	query value  --ParseValue--> gRPC field, or what is wrong with it
//
// The form differs from protobuf's own JSON on purpose; the RFC prints it so:
//
//   - names are snake_case; enum values are the RFC's short lower-case words ("request", "open");
//   - a field that is unset is present and null, an empty list is []; only an event's proof, trace_id and
//     parent_event_id are left out, because the event's hash covers the exact object;
//   - times are UTC RFC 3339 with six fraction digits and Z; every integer is a JSON number; a double is in its
//     shortest form, an integer if it is one;
//   - google.protobuf.Struct and Value are plain JSON; nothing is escaped for HTML.
//
// Everything about a message type is computed once, in a plan that is made at first use and kept.
//
// # Guarantees
//
// jsonvalue.Check accepts everything that Encode writes, and Decode reads it back as the same message, down to
// microseconds. Two encodings of equal messages are equal byte by byte.
//
// # What happens on failure
//
// Decode never stops halfway in silence. It checks the whole text first, and names every bad field by its path with
// one sentence that says what would be right. Encode fails only on values that JSON cannot hold (NaN, text that is
// not UTF-8); intake never lets these be stored.
package jsonform
