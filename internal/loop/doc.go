// Package loop runs a piece of periodic work until it is stopped.
//
// The work is a plain function, which tests call directly without waiting. A Loop runs it at each interval and at each
// Wake, one turn at a time. It logs errors and goes on, and a panic ends only the turn in which it happens. A loop that is
// Slowing waits longer after each failure in a row, and logs only the first of them. Stop cancels the turn's context and waits
// until the turn returns; stopping twice, or before Start, is safe.
package loop
