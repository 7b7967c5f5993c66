package jsonvalue

import "bufio"

const (
	// frame is how many of the outermost levels are always laid over lines.
	frame = 3
	// roomToSpread is how many bytes line breaks and indentation may add to a text's values beyond their own lengths.
	roomToSpread = 32 << 10
)

// WriteLines writes checked text as JSON for people, with a line for each entry. It needs no memory beside the text: what it writes goes out
// as the writer fills. The caller flushes the writer, which keeps the first error.
//
// A list or an object below the three outermost levels that lines would make more than twice as long stays on one line, unless that happens
// to few and short ones: 32 KiB in all. So deep nesting makes no long answer of a short text.
func WriteLines(out *bufio.Writer, text []byte) {
	w := linesWriter{newLayout(out, text)}
	w.value(0, false)
	_ = out.WriteByte('\n')
}

// layout is a text on its way to people.
type layout struct {
	in  cursor
	out *bufio.Writer
	// room is what is left of roomToSpread.
	room int
}

func newLayout(out *bufio.Writer, text []byte) layout {
	return layout{in: cursor{text: text}, out: out, room: roomToSpread}
}

type linesWriter struct{ layout }

// value writes the next value. With free, it is part of one that is laid over lines as a whole.
func (w *linesWriter) value(depth int, free bool) {
	lines, free := w.overLines(depth, free)
	if !lines {
		_, _ = w.out.Write(w.in.skip())
		return
	}
	opening := w.in.peek()
	_ = w.out.WriteByte(opening)
	first := true
	next := func() {
		if !first {
			_ = w.out.WriteByte(',')
		}
		first = false
		w.newLine(depth + 1)
	}
	if opening == '[' {
		for range w.in.elements {
			next()
			w.value(depth+1, free)
		}
	} else {
		for key := range w.in.members {
			next()
			_ = w.out.WriteByte('"')
			_, _ = w.out.Write(key)
			_, _ = w.out.WriteString(`": `)
			w.value(depth+1, free)
		}
	}
	w.newLine(depth)
	_ = w.out.WriteByte(opening + 2) // in ASCII both closing brackets come two places after the opening ones
}

// overLines decides whether the next value at a depth is laid over lines, which lists and objects are that are not empty. all says that
// everything in it is, too. free says that this was decided further out.
func (w *layout) overLines(depth int, free bool) (lines, all bool) {
	inner := w.in
	if opening := inner.peek(); opening != '{' && opening != '[' {
		return false, free
	}
	inner.at++
	if next := inner.peek(); next == '}' || next == ']' {
		return false, free
	}
	if free {
		return true, true
	}
	added, length := w.in.spread(depth)
	if over := max(0, added-length); over <= w.room {
		w.room -= over
		return true, true
	}
	return depth < frame, false
}

// spread returns how many bytes line breaks and indentation add to the next value at a depth, and how long it is without them.
func (c cursor) spread(depth int) (added, length int) {
	start := c.at
	for level := depth; ; {
		switch next := c.peek(); next {
		case '{', '[':
			c.at++
			if closing := c.peek(); closing == '}' || closing == ']' {
				c.at++
				break
			}
			level++
			added += 1 + 2*level
			continue
		case '}', ']':
			c.at++
			level--
			added += 1 + 2*level
		case ',':
			c.at++
			added += 1 + 2*level
			continue
		case ':':
			c.at++
			added++
			continue
		case '"':
			c.quoted()
		default:
			c.scalar()
		}
		if level == depth {
			return added, c.at - start
		}
	}
}

// newLine begins a line at a depth.
func (w *layout) newLine(depth int) {
	_ = w.out.WriteByte('\n')
	w.indent(depth)
}

func (w *layout) indent(depth int) {
	for range depth {
		_, _ = w.out.WriteString("  ")
	}
}
