package fault

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// Panic is the error of a call that panicked. Callers of the API learn only that the server failed; its text, with the stack, is for the
// log.
type Panic struct {
	Cause any
	Stack []byte
}

func (p *Panic) Error() string { return fmt.Sprintf("panic: %v\n%s", p.Cause, p.Stack) }

// Recover turns a panic into a *Panic, so that one bad call does not end the program. A function that may panic defers it with its own
// error:
//
//	defer fault.Recover(&err)
func Recover(err *error) {
	if cause := recover(); cause != nil {
		*err = &Panic{Cause: cause, Stack: debug.Stack()}
	}
}

// IsPanic reports whether an error is that of a call that panicked.
func IsPanic(err error) bool {
	var p *Panic
	return errors.As(err, &p)
}
