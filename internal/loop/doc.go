// Package loop runs a piece of periodic work until it is stopped.
//
// The work is a plain function, which tests call directly without waiting. A Loop runs it at each interval and at each
// Wake, one run at a time. It logs errors and goes on, and a panic ends only the run in which it happens. A loop that is
// Slowing waits longer after each failure in a row, and logs only the first of them. Run runs the work at once, for a caller that
// waits for it. Stop cancels the run's context and waits until the run returns; stopping twice, or before Start, is safe.
package loop
