// Package claim decides who works on a message, and by that who may answer a request that takes an exact number of answers.
//
// # Model
//
// A claim is an agent's hold of a message for a time: of a request, or of a thread by its first message. A request that takes n
// answers (message.ExactAnswers) has n places, any other message has one. A claim or an answer takes up a place.
//
//	ClaimMessage --> a free place? --> claim, message_claimed --> renewed with its fence ... --> an ending, claim_released
//	                     |                                                                         |
//	                     +--> 409 CLAIMED                            the place is offered again <--+
//
// # What holds
//
//   - Everything is decided under the lock of the intent's head (take.go for claims, answer.go for answers), so no place is taken
//     twice, whatever the clocks of holders say.
//   - A fence is a time of the intent's log, in microseconds. So it rises with each claim of the intent, and goes on rising after
//     an eviction, a restart, and a loss of commits after which the clock goes on.
//   - Time, the holder's presence, access and role, the message and the channel decide whether a claim has ended, in one function
//     (why_ended.go). Readers follow it, and nothing waits for the sweep, which only stores and announces what is so already. What one
//     run of the sweep costs is bounded, however many claims there are (judging.go).
//   - A claim on a request that takes n answers keeps its place after an ending other than a release, until somebody else takes the
//     place. Until then its holder's late answer is accepted. Claims, kept ones too, and answers never exceed the places.
package claim
