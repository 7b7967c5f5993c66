package pages

import (
	"bytes"
	"encoding/base64"
	"encoding/json"

	"openintent/internal/caller"
	"openintent/internal/fault"
)

// encoding is how a cursor is written as text; the text needs no escaping in a query string.
var encoding = base64.RawURLEncoding

// Cursor returns the cursor of the place right after an entry. The entry's key consists of integers and texts.
func Cursor(list string, key ...any) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(append([]any{list}, key...)); err != nil {
		panic(err) // integers and texts always have a JSON form
	}
	return encoding.EncodeToString(bytes.TrimSpace(text.Bytes()))
}

// Parse reads a cursor of the list into the key, whose parts are pointers to int64 and string.
func Parse(list, cursor string, key ...any) error {
	malformed := fault.BadField("cursor", "it must be the next_cursor of a page of this list; leave it out to begin anew.")
	text, err := encoding.DecodeString(cursor)
	if err != nil {
		return malformed
	}
	var parts []json.RawMessage
	if json.Unmarshal(text, &parts) != nil || len(parts) != len(key)+1 {
		return malformed
	}
	var named string
	for i, part := range append([]any{&named}, key...) {
		if string(parts[i]) == "null" || json.Unmarshal(parts[i], part) != nil {
			return malformed
		}
		if text, ok := part.(*string); ok && caller.CheckText("cursor", *text) != nil {
			return malformed
		}
	}
	if named != list {
		return malformed
	}
	return nil
}
