package search

import (
	"openintent/internal/database"
	"openintent/messaging/message"
)

const (
	// maxIndexedWords is how many different words of a message the index has at most. Further ones are not found.
	maxIndexedWords = 5_000
	// usualWords is how many words there is room for at first.
	usualWords = 32
	// slots is how many documents may have the same microsecond.
	slots = 1 << database.NumberBits
	// latestMicros is the latest time that fits into a number.
	latestMicros = 1<<(63-database.NumberBits) - 1
)

// numberAt returns the lowest number of a document of a time, in microseconds.
func numberAt(micros int64) int64 { return min(max(micros, 0), latestMicros) << database.NumberBits }

// document is a message as the index has it.
type document struct {
	intentNo, position int64
	// micros is when the message was sent, and number, once it is known, where that puts the document.
	micros, number int64
	// words are those of its texts and its marks; none for a message that nobody can find.
	words []string
	// again is true if the index may have the message already.
	again bool
}

func documentOf(m *message.Message) document {
	d := document{intentNo: m.IntentNo, position: m.Position, micros: database.Micros(m.CreatedAt)}
	known := make(map[string]struct{}, usualWords)
	d.words = make([]string, 0, usualWords)
	for text := range textsOf(m) {
		for w := range wordsOf(text) {
			kept := indexed(w.text)
			if _, again := known[kept]; again {
				continue
			}
			if len(known) == maxIndexedWords {
				break
			}
			known[kept] = struct{}{}
			d.words = append(d.words, kept)
		}
	}
	if len(d.words) > 0 {
		d.words = append(d.words, marksOf(m)...)
	}
	return d
}
