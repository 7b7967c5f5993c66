// Package loopbrake decides when the loop brake is put on two agents that answer nobody but each other, and when it ends. It is told of one
// message after the other, and depends on nothing but what it is told. So the writer (messaging/writing) decides by it, and a replay of a
// log finds what the writer decided.
//
//	message --PlaceOf--> Place ──┐
//	budget ──────────────────────┴──> Dialogue.Turn ──> braked or not
//
// What must hold:
//
//   - Only two agents have a dialogue. Whoever else writes in their place ends their brake, and a dialogue begins anew.
//   - What one of the two writes to somebody else, or what mentions somebody else, is no part of the dialogue: it is neither counted nor
//     braked. Neither is an answer to a request outside threads: the two are a pair, which ends with the answer.
//   - The operator is no agent. When it writes, the dialogue begins anew.
//   - A brake ends after the time in which the messages count, also if the clock is set back.
//   - A dialogue has a fixed size, whatever is said in it. A turn allocates nothing, unless the dialogue begins or its budget changes.
//
// It knows neither where dialogues are kept nor who is told of a brake. If a dialogue is forgotten, the counting begins anew.
package loopbrake
