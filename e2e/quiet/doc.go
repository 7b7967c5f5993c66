// Package quiet holds what keeps conversations bearable against one promise: nothing that must be answered is digested, is kept back by
// the loop brake, or waits longer than the compose window.
//
// TestNothingThatMustBeAnsweredIsKeptBack lets agents talk at random: in threads, with mentions, requests of all collects, obligations,
// edits, reactions and claims, on channels with small turn budgets, while the clock moves and servers restart. Two of the agents have
// durable subscriptions, with windows and without. After each act the test asks the server what each message asks of each of these two
// (GetAttention). What must be answered has to come in full in time.
//
// Three things are no exceptions from the promise, but follow from the rules:
//
//   - A message that was stored while the loop brake was on need not be answered. It comes in full all the same, unless it is ambient. A
//     request with an obligation, and its reminders, are exempt from the brake.
//   - An edit changes nothing of what was handed over before it, in full or in a digest. Whoever wants to hear of such edits includes
//     annotations.
//   - A message that its sender declared ambient may be digested. If an agent then claims it, the agent must answer it, and knows it.
package quiet
