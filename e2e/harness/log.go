package harness

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// shownOfLog is how many bytes of a log's end, and how many of the warnings and errors before it, a failed test prints.
const shownOfLog = 16 << 10

// ShowLog prints what matters of the server's log, the first time it is called: the end, and the last warnings and errors before
// it. A failed test does so by itself, after its own output. A test calls ShowLog before it prints a long failure, so that the
// failure comes last.
func (s *Server) ShowLog(tb testing.TB) {
	tb.Helper()
	s.shown.Do(func() { tb.Logf("the server's log:\n%s", excerpt(s.Log(), shownOfLog)) })
}

// excerpt shortens a log to whole lines: the last ones within a number of bytes, and before them, within the same number, the
// last warnings and errors of the rest. It says how many lines are missing.
func excerpt(log string, bytes int) string {
	lines := strings.SplitAfter(log, "\n")
	end, left := len(lines), bytes
	for end > 0 && len(lines[end-1]) <= left {
		end--
		left -= len(lines[end])
	}
	var kept []string
	left = bytes
	for i := end - 1; i >= 0; i-- {
		if alarming(lines[i]) && len(lines[i]) <= left {
			kept = append(kept, lines[i])
			left -= len(lines[i])
		}
	}
	var shown strings.Builder
	if missing := end - len(kept); missing > 0 {
		fmt.Fprintf(&shown, "(%d lines are left out)\n", missing)
	}
	for i := len(kept) - 1; i >= 0; i-- {
		shown.WriteString(kept[i])
	}
	shown.WriteString(strings.Join(lines[end:], ""))
	return shown.String()
}

// alarming reports whether a line of a log, in either of its forms, is a warning or an error.
func alarming(line string) bool {
	for _, level := range []string{`"level":"WARN"`, `"level":"ERROR"`, "level=WARN", "level=ERROR"} {
		if strings.Contains(line, level) {
			return true
		}
	}
	return false
}

// log is a buffer that the server writes while the test reads.
type log struct {
	mutex sync.Mutex
	text  []byte
}

func (l *log) Write(text []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.text = append(l.text, text...)
	return len(text), nil
}

func (l *log) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return string(l.text)
}
