// Package loopbrake decides when the loop brake is put on two agents that answer nobody but each other, when a conversation of many agents is
// braked, and when either ends. It is told of one message after the other, and depends on nothing but what it is told. So the writer
// (messaging/writing) decides by it, and a replay of a log finds what the writer decided about two agents.
//
//	message --PlaceOf--> Place ──┐
//	budget ──────────────────────┼──> Dialogue.Turn ──> braked or not
//	                             └──> Crowd.Counts, Crowd.Until ──> refused or not
//
// What must hold of two agents:
//
//   - Only two agents have a dialogue. Whoever else writes in their place ends their brake, and a dialogue begins anew.
//   - What one of the two writes to somebody else, or what mentions somebody else, is no part of the dialogue: it is neither counted nor
//     braked. Neither is an answer to a request outside threads: the two are a pair, which ends with the answer.
//   - The operator is no agent, and neither is a person. When one of them writes, the dialogue begins anew.
//   - A brake ends after the time in which the messages count, also if the clock is set back.
//   - A dialogue has a fixed size, whatever is said in it. A turn allocates nothing, unless the dialogue begins or its budget changes.
//
// What must hold of a crowd:
//
//   - Only requests and broadcasts of agents count, and of these only one whose sender was given one by another agent since its own last. So
//     neither many agents that ask one ever count, nor does one that asks many.
//   - A request that wants a number of answers or carries an obligation never counts, but it sets its recipients to work.
//   - A person's message, and a lift, begin the count anew.
//   - Not more than the budget count within the time. The next one may follow when the oldest of them is that long ago.
//
// It knows neither where dialogues and crowds are kept nor who is told of a brake. If a dialogue is forgotten, the counting begins anew; a
// crowd is read from the log.
package loopbrake
