package jsonvalue

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"openintent/internal/fault"
)

const (
	// longestPath bounds a path's length: a longer path keeps only its root and its inner end, so that it fits an error header.
	longestPath = 200
	// longestKey is how many bytes of a key a path or a reason shows.
	longestKey = 64
)

// Violation is the refusal of a JSON value. It unwraps to a fault.Fault of kind Invalid.
type Violation struct {
	// Path is the place of the bad value, as a dotted path that begins with the checked field: payload.items[3].n. A key that
	// is not a plain word is quoted in brackets: payload["a b"]. A bad key is reported at the object that contains it. Path is
	// empty if the checked text had no name and is itself bad.
	Path string
	// Reason is one sentence: what was wrong and what would be right.
	Reason string
}

// Error returns the path and the reason.
func (v *Violation) Error() string {
	if v.Path == "" {
		return v.Reason
	}
	return v.Path + ": " + v.Reason
}

// Unwrap returns the refusal in the form in which the domain's rooms return it.
func (v *Violation) Unwrap() error {
	if v.Path == "" {
		return fault.New(fault.Invalid, "INVALID_FIELD", v.Reason)
	}
	return fault.BadField(v.Path, v.Reason)
}

// The following methods build the path of a violation from the inside outwards, while the recursion unwinds. Valid text
// therefore costs nothing.

func (v *Violation) underKey(key []byte) *Violation {
	if isPlainWord(key) {
		return v.under("." + string(key))
	}
	return v.under("[" + quoteKey(key) + "]")
}

func (v *Violation) underIndex(index int) *Violation {
	return v.under("[" + strconv.Itoa(index) + "]")
}

func (v *Violation) under(segment string) *Violation {
	const cut = "…"
	switch {
	case strings.HasPrefix(v.Path, cut):
	case len(v.Path)+len(segment) > longestPath:
		v.Path = cut + v.Path
	default:
		v.Path = segment + v.Path
	}
	return v
}

// underRoot completes the path with the name of the checked field.
func (v *Violation) underRoot(path string) *Violation {
	v.Path = strings.TrimPrefix(path+v.Path, ".")
	return v
}

func isPlainWord(key []byte) bool {
	for _, c := range key {
		if c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return len(key) > 0 && len(key) <= longestKey
}

// quoteKey returns a key in quotes, shortened if it is long.
func quoteKey(key []byte) string {
	if len(key) <= longestKey {
		return strconv.Quote(string(key))
	}
	end := longestKey
	for end > 0 && !utf8.RuneStart(key[end]) {
		end--
	}
	return strconv.Quote(string(key[:end]) + "…")
}
