package record

import (
	"encoding/json"
	"slices"
)

const (
	// BlockSize is how many numbers a stream reserves at a time.
	BlockSize = MaxUnfinished
	// maxAbandoned bounds how many spans of abandoned numbers a subscription remembers. Only a stream that dies or loses its
	// lease leaves one. Neighbouring spans become one, and so do the two oldest of too many.
	maxAbandoned = 16
)

// span is a range of numbers, both ends included.
type span [2]int64

// Unsettled reports whether a number may belong to a delivery that the active stream has sent and has not stored yet.
func (s *Subscription) Unsettled(number int64) bool {
	return number > s.LastNumber && number <= s.ReservedThrough
}

// WasAbandoned reports whether a number was reserved by a stream that was replaced before it stored the number's delivery. If it
// sent the delivery, the message comes again under a new number.
func (s *Subscription) WasAbandoned(number int64) bool {
	return slices.ContainsFunc(s.abandoned, func(gone span) bool { return gone[0] <= number && number <= gone[1] })
}

// Abandon gives up what is left of the reserved block, because the stream that reserved it no longer has the lease. No number
// of it is given again.
func (s *Subscription) Abandon() {
	if s.ReservedThrough <= s.LastNumber {
		return
	}
	gone := span{s.LastNumber + 1, s.ReservedThrough}
	if n := len(s.abandoned); n > 0 && s.abandoned[n-1][1]+1 == gone[0] {
		s.abandoned[n-1][1] = gone[1]
	} else {
		s.abandoned = append(s.abandoned, gone)
	}
	if len(s.abandoned) > maxAbandoned { // rather too many numbers are refused than too few
		s.abandoned[1][0] = s.abandoned[0][0]
		s.abandoned = s.abandoned[1:]
	}
	s.LastNumber = s.ReservedThrough
}

// abandonedText returns spans as the database keeps them.
func abandonedText(spans []span) string {
	if len(spans) == 0 {
		return ""
	}
	text, _ := json.Marshal(spans) // numbers always have a JSON form
	return string(text)
}

// abandonedFrom reads what abandonedText returned.
func abandonedFrom(stored string) (spans []span, err error) {
	if stored != "" {
		err = json.Unmarshal([]byte(stored), &spans)
	}
	return spans, err
}
