// Package reaction keeps the reactions to messages: who has set which signal on which message. The room conversation decides who may
// change them, and threads show them.
//
// # What holds
//
//   - There is one row for each message, agent and signal. A signal that was taken away keeps its row, with the number of its changes.
//   - A message's reactions have the order in which they were set. Their keys are the positions of their annotations.
//   - Whoever reads reactions here has found out that they may be shown.
package reaction
