package harnesses

import (
	"fmt"
	"strings"
	"sync/atomic"
)

// modelName is what the model calls itself.
const modelName = "scripted"

var made atomic.Int64

// newID returns an id that no other answer has.
func newID(kind string) string { return fmt.Sprintf("%s_%d", kind, made.Add(1)) }

func cutLast(text, separator string) (before, after string, found bool) {
	at := strings.LastIndex(text, separator)
	if at < 0 {
		return "", text, false
	}
	return text[:at], text[at+len(separator):], true
}
