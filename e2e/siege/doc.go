// Package siege attacks a running server the way a stranger with a key, or without one, would: it takes what is not its own
// and uses up what others need. Each attack is a test in a file that is named after what is attacked.
//
// An attack runs against the built program in a process of its own, on each engine that it concerns. It fails when a bound is
// broken, and it prints what it measured as a line that begins with "figure:". The sizes are small in an ordinary test run;
// `make siege` runs the same attacks at full size.
package siege
