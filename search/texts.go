package search

import (
	"bytes"
	"encoding/json"
	"iter"

	"openintent/jsonvalue"
	"openintent/messaging/message"
)

// textsOf goes through the texts of a message in which a search looks: its subject, and all strings of its payload, but not the names of
// the payload's fields.
func textsOf(m *message.Message) iter.Seq[string] {
	return func(yield func(string) bool) {
		if m.Conversation != nil && m.Conversation.Subject != "" && !yield(m.Conversation.Subject) {
			return
		}
		stringsOf(m.Payload, yield)
	}
}

// stringsOf calls a function with each string of an object that is no name of a field, as long as the function wants more.
func stringsOf(object jsonvalue.Object, yield func(string) bool) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	decoder.UseNumber()
	// nesting has one entry for each object or list around the place: whether it is an object, and whether a name comes next.
	type nested struct{ object, name bool }
	var nesting []nested
	for {
		token, err := decoder.Token()
		if err != nil {
			return // at the end; what is stored is well-formed
		}
		inside := len(nesting) > 0
		named := inside && nesting[len(nesting)-1].object && nesting[len(nesting)-1].name
		switch value := token.(type) {
		case json.Delim:
			switch value {
			case '{', '[':
				nesting = append(nesting, nested{value == '{', value == '{'})
				continue
			}
			nesting = nesting[:len(nesting)-1]
			inside, named = len(nesting) > 0, false
		case string:
			if !named && !yield(value) {
				return
			}
		}
		if inside && nesting[len(nesting)-1].object {
			nesting[len(nesting)-1].name = !named
		}
	}
}
