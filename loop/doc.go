// Package loop runs a piece of periodic work until it is stopped.
//
// The work is a plain function that tests call directly, without time. A Loop adds the clockwork: a turn at each
// interval and at each Wake, one turn at a time, errors logged and never fatal, a panic contained to its turn. Stop
// cancels the turn's context and waits for it; stopping twice, or before Start, is safe.
package loop
