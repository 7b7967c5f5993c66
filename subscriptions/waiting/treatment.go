package waiting

import openintentv1 "openintent/gen/openintent/v1"

// treatment is what becomes of an entry in a subscription with windows.
type treatment int

const (
	// apart is delivered at once and concerns no window: events, annotations, the agent's own messages.
	apart treatment = iota
	// composed waits until its sender is silent.
	composed
	// joining waits only if its sender has something waiting in the same conversation.
	joining
	// urgent is delivered at once and takes along what waits in its channel.
	urgent
	// digested waits for the next digest.
	digested
)

// treatmentOf decides by what a message asks of the subscriber.
func (r Rules) treatmentOf(e Entry) treatment {
	judged := e.Attention
	switch {
	case e.Message == nil || judged == nil:
		return apart
	case r.Digest > 0 && digestible(e):
		return digested
	case r.Silence == 0:
		return apart
	case judged.Injection == openintentv1.Injection_INJECTION_IMMEDIATE:
		return urgent
	case judged.Injection == openintentv1.Injection_INJECTION_BUFFERED:
		return composed
	}
	return joining
}

// digestible reports whether a message may be summed up: it is not for the subscriber, and need not be answered, not even when the
// claims of others have ended.
func digestible(e Entry) bool {
	judged, said := e.Attention, e.Message.Conversation
	return judged != nil && judged.Directedness == openintentv1.Directedness_DIRECTEDNESS_AMBIENT &&
		judged.Policy != openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_RESPOND &&
		judged.Unclaimed().Policy != openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_RESPOND &&
		(said == nil || said.Obligation == nil && said.Return == nil)
}

// TooImportant reports whether a message may no longer be summed up.
func (e Entry) TooImportant() bool { return e.Attention != nil && !digestible(e) }
