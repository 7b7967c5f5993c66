package writing

import "context"

// Steps are told how far a draft has come, for whoever has several drafts of one sender under way. Each is called at most once.
type Steps struct {
	// Queued is called when the draft has its place in the queue, so that what is queued afterwards is stored afterwards. It is not called
	// for a draft that is refused before.
	Queued func()
	// Ended is called when the draft is stored or refused by the writer, although the call may wait for answers from then on.
	Ended func()
}

type stepsKey struct{}

// WithSteps returns a context for one call that sends.
func WithSteps(ctx context.Context, steps *Steps) context.Context {
	return context.WithValue(ctx, stepsKey{}, steps)
}

func (s *Steps) queued() {
	if s != nil {
		s.Queued()
	}
}

func (s *Steps) ended() {
	if s != nil {
		s.Ended()
	}
}
