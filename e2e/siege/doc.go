// Package siege attacks a running server as a stranger with a key, or without one, would: it tries to take what
// belongs to others and to use up what others need. Each attack is a test in a file that is named after its target.
//
// An attack runs against the built program in a separate process, on each engine that it concerns. It fails when a
// bound is exceeded, and it prints its measurements as a line that begins with "figure:". The sizes are small in an
// ordinary test run; `make siege` runs the same attacks at full size.
package siege
