package openintent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// This file says how a model is shown what others wrote: one line of JSON, in which the server's facts come first and each text of the sender is
// the value of one member, which no text can end. The doors of the server show it in the same way; sdk/scenarios/vectors/fence.json holds
// both to that.

// wholeRoom is the room for a payload that is not cut.
const wholeRoom = math.MaxInt

// fenced is a message as a model is shown it. The server vouches for the members up to Cursor.
type fenced struct {
	ID        string `json:"id"`
	From      string `json:"from"`
	FromKind  string `json:"from_kind,omitempty"`
	To        string `json:"to,omitempty"`
	Type      string `json:"type"`
	Channel   string `json:"channel,omitempty"`
	At        string `json:"at"`
	Answers   string `json:"answers,omitempty"`
	Thread    string `json:"thread,omitempty"`
	Expires   string `json:"expires,omitempty"`
	Edited    bool   `json:"edited,omitempty"`
	Deleted   bool   `json:"deleted,omitempty"`
	Policy    string `json:"policy,omitempty"`
	Why       string `json:"why,omitempty"`
	ClaimedBy string `json:"claimed_by,omitempty"`
	// Cut is how many bytes the whole payload has, if a part of it is shown.
	Cut    int    `json:"cut_from_bytes,omitempty"`
	Cursor string `json:"cursor,omitempty"`

	Subject string          `json:"subject,omitempty"`
	Kind    string          `json:"kind,omitempty"`
	Text    *string         `json:"text,omitempty"`
	Payload json.RawMessage `json:"payload,omitempty"`
	Begin   string          `json:"payload_begins,omitempty"`
	Part    string          `json:"payload_part,omitempty"`
}

// fence returns a message as a model is shown it, with at most so many bytes of its payload. attention may be nil.
func fence(m *Message, attention *Attention, room int) string {
	return shownOf(m, attention, room).line()
}

// shownOf returns what a model is shown of a message.
func shownOf(m *Message, attention *Attention, room int) fenced {
	shown := fenced{
		ID: m.ID, From: m.Sender, FromKind: m.SenderKind, To: m.To, Type: string(m.MessageType), Channel: m.ChannelID, At: moment(m.CreatedAt),
		Expires: moment(m.ExpiresAt), Edited: !m.EditedAt.IsZero(), Deleted: !m.DeletedAt.IsZero(), Subject: m.Subject, Kind: m.Kind,
	}
	if m.MessageType == Response {
		shown.Answers = m.CorrelationID
	}
	if m.ThreadID != m.ID {
		shown.Thread = m.ThreadID
	}
	if attention != nil {
		shown.Policy, shown.Why = string(attention.Policy), attention.Reason
		if attention.Claim != nil {
			shown.ClaimedBy = attention.Claim.Holder
		}
	}
	content, isText := contentOf(m.Payload)
	begin := beginning(content, room)
	whole := len(begin) == len(content)
	if !whole {
		shown.Cut = len(content)
	}
	switch {
	case isText:
		shown.Text = &begin
	case whole:
		shown.Payload = json.RawMessage(content)
	default:
		shown.Begin = begin
	}
	return shown
}

// fencePart returns a message with the part of its payload that begins at a byte and has at most so many bytes. next is the byte at which the
// next part begins, or 0.
func fencePart(m *Message, start, room int) (line string, next int) {
	content, isText := contentOf(m.Payload)
	start = min(max(start, 0), len(content))
	for start > 0 && start < len(content) && !utf8.RuneStart(content[start]) {
		start--
	}
	shown := shownOf(m, nil, room)
	part := beginning(content[start:], room)
	if start > 0 {
		shown.Text, shown.Payload, shown.Begin, shown.Cut = nil, nil, "", len(content)
		if isText {
			shown.Text = &part
		} else {
			shown.Part = part
		}
	}
	if end := start + len(part); end < len(content) {
		next = end
		shown.Cursor = strconv.Itoa(end)
	}
	return shown.line(), next
}

// line writes one line. It escapes no < and >, which would only cost tokens.
func (f fenced) line() string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(f); err != nil {
		panic("openintent: a message that is no JSON: " + err.Error()) // what the contract hands out is JSON
	}
	return string(bytes.TrimRight(out.Bytes(), "\n"))
}

// contentOf returns a payload as a model reads it: the text in {"text": T}, and the JSON of any other.
func contentOf(payload map[string]any) (content string, isText bool) {
	if text, isText := payload["text"].(string); isText && len(payload) == 1 {
		return text, true
	}
	return string(appendCanonical(nil, payload)), false
}

// beginning returns at most so many bytes of a text and no part of a character.
func beginning(text string, room int) string {
	if len(text) <= room {
		return text
	}
	for room > 0 && !utf8.RuneStart(text[room]) {
		room--
	}
	return text[:room]
}

// moment returns a time to the second, which is enough for a model, and "" for none.
func moment(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format("2006-01-02T15:04:05Z")
}

// appendCanonical writes JSON as the server does: members in the order of their UTF-16 code units, no spaces, and numbers as ECMAScript prints
// them, but integers that a double does not tell apart with an exponent.
func appendCanonical(out []byte, value any) []byte {
	switch value := value.(type) {
	case map[string]any:
		out = append(out, '{')
		for i, key := range slices.SortedFunc(maps.Keys(value), compareUTF16) {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(appendQuoted(out, key), ':')
			out = appendCanonical(out, value[key])
		}
		return append(out, '}')
	case []any:
		out = append(out, '[')
		for i, element := range value {
			if i > 0 {
				out = append(out, ',')
			}
			out = appendCanonical(out, element)
		}
		return append(out, ']')
	case string:
		return appendQuoted(out, value)
	case float64:
		return appendNumber(out, value)
	case bool:
		return strconv.AppendBool(out, value)
	}
	return append(out, "null"...)
}

func compareUTF16(a, b string) int {
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

// appendNumber writes a double.
func appendNumber(out []byte, f float64) []byte {
	const largestInteger = 1<<53 - 1
	size := math.Abs(f)
	switch {
	case f == 0:
		return append(out, '0')
	case size >= 1e-6 && size <= largestInteger:
		return strconv.AppendFloat(out, f, 'f', -1, 64)
	}
	out = strconv.AppendFloat(out, f, 'e', -1, 64)
	if n := len(out); out[n-2] == '0' && (out[n-3] == '+' || out[n-3] == '-') { // Go pads the exponent to two digits
		out[n-2] = out[n-1]
		out = out[:n-1]
	}
	return out
}

// appendQuoted writes a string without unnecessary escapes.
func appendQuoted(out []byte, text string) []byte {
	out = append(out, '"')
	for i := range len(text) {
		switch c := text[i]; c {
		case '"', '\\':
			out = append(out, '\\', c)
		case '\b':
			out = append(out, `\b`...)
		case '\f':
			out = append(out, `\f`...)
		case '\n':
			out = append(out, `\n`...)
		case '\r':
			out = append(out, `\r`...)
		case '\t':
			out = append(out, `\t`...)
		default:
			if c < ' ' {
				out = fmt.Appendf(out, `\u%04x`, c)
			} else {
				out = append(out, c)
			}
		}
	}
	return append(out, '"')
}

// leastPart is how many bytes a part of a message has at least, so that whoever reads on comes to the end.
const leastPart = 100

// fitted returns a message as a model is shown it, in at most so many characters. A message that is cut says how to read it.
func fitted(m *Message, attention *Attention, most int) string {
	if whole := fence(m, attention, wholeRoom); utf8.RuneCountInString(whole) <= most {
		return whole
	}
	note := fmt.Sprintf("\nThis message is cut: read(%q) shows it from its beginning, in parts.", m.ID)
	plain := *m
	plain.Subject, plain.Kind = "", ""
	bare := plain
	bare.To, bare.ThreadID = "", ""
	for _, one := range []struct {
		message   *Message
		attention *Attention
	}{{m, attention}, {&plain, attention}, {&bare, nil}} {
		shown := func(room int) string { return fence(one.message, one.attention, room) }
		if line, fits := longest(shown, m, most-len(note)); fits {
			return line + note
		}
	}
	return note[1:]
}

// fittedPart returns the part of a message that begins at a byte, in at most so many characters. It says how to go on.
func fittedPart(m *Message, start, most int) string {
	shown := func(room int) string {
		line, next := fencePart(m, start, room)
		if next == 0 {
			return line
		}
		return fmt.Sprintf("%s\nThere is more: read(%q, \"%d\") goes on.", line, m.ID, next)
	}
	if text, fits := longest(shown, m, most); fits {
		return text
	}
	return shown(leastPart)
}

// longest returns what is shown with the most room for which it has at most so many characters. fits is false if it has more without any.
func longest(shown func(room int) string, m *Message, most int) (text string, fits bool) {
	if text = shown(0); utf8.RuneCountInString(text) > most {
		return "", false
	}
	content, _ := contentOf(m.Payload)
	low, high := 0, len(content)
	for low < high {
		middle := (low + high + 1) / 2
		if next := shown(middle); utf8.RuneCountInString(next) <= most {
			low, text = middle, next
		} else {
			high = middle - 1
		}
	}
	return text, true
}
