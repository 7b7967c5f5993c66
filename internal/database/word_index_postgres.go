package database

import (
	"math"
	"strconv"
	"strings"
)

// A GIN index knows no order: it gives all documents with a word. To find the newest of very many, each document also has as words the
// spans of time in which it lies, from a quarter of a second to fifty days. A search begins with the short span at the end of its range
// and goes on to longer ones as long as it finds little. If a span has too many documents, the search goes back to shorter ones. So what
// a search costs hardly depends on how common its words are.
const (
	// spanBits are the bits of a number that the shortest spans leave out, spanStep the further ones of each longer span.
	spanBits = NumberBits + 18
	spanStep = 4
	// spanLevels is how many lengths of spans there are. The level after the last one is all time.
	spanLevels = 7
	// spanCrowd is how many documents are read of one span, unless it is one of the shortest.
	spanCrowd = 2_000
)

// spanOf returns the first number of the span of a level in which a number lies.
func spanOf(number int64, level int) int64 {
	if level >= spanLevels {
		return 0
	}
	bits := spanBits + level*spanStep
	return number >> bits << bits
}

// spanWord returns the word of a span. It begins as no other word does.
func spanWord(start int64, level int) string {
	return "__" + strconv.Itoa(level) + "_" + strconv.FormatInt(start>>(spanBits+level*spanStep), 36)
}

func (p *postgresServer) wordNumber() string { return "document" }

func (p *postgresServer) indexWords(documents []IndexedWords) []Statement {
	numbers, texts := make([]int64, len(documents)), make([]string, len(documents))
	for i, d := range documents {
		words := d.Words[:len(d.Words):len(d.Words)]
		for level := range spanLevels {
			words = append(words, spanWord(spanOf(d.Number, level), level))
		}
		numbers[i], texts[i] = d.Number, joinWords(words, "'", "'", " ")
	}
	return []Statement{{
		SQL:  "INSERT INTO search_words (document, words) SELECT d, w::tsvector FROM unnest(?::bigint[], ?::text[]) AS v (d, w)",
		Args: []any{numbers, texts},
	}}
}

func (p *postgresServer) emptyWords(others []string) []Statement {
	return []Statement{{SQL: "TRUNCATE " + strings.Join(append([]string{"search_words"}, others...), ", ")}}
}

func (p *postgresServer) mergeWords() []Statement { return nil } // PostgreSQL merges when it inserts

func (p *postgresServer) purgeWords() []Statement { return nil } // vacuum removes what was deleted

func (p *postgresServer) commitLazily() []Statement {
	return []Statement{{SQL: "SET LOCAL synchronous_commit = off"}}
}

// findWords looks at one span. The limit within the statement bounds what it reads, and the rest of it runs on what was read.
func (p *postgresServer) findWords(tx *Tx, w *WordSearch, limit int) (numbers []int64, done bool, err error) {
	start := spanOf(w.Below-1, w.level)
	words, crowd := w.Words, math.MaxInt32
	if w.level < spanLevels {
		words = append(words[:len(words):len(words)], spanWord(start, w.level))
	}
	if w.level > 0 {
		crowd = spanCrowd
	}
	read := 0
	err = tx.Pipeline(Statement{
		SQL: "WITH hits AS MATERIALIZED (SELECT document FROM search_words WHERE words @@ ?::tsquery LIMIT ?)" +
			" (SELECT count(*), NULL::bigint FROM hits) UNION ALL (SELECT NULL, document FROM hits" +
			" WHERE document >= ? AND document < ? ORDER BY document DESC LIMIT ?)",
		Args: []any{joinWords(words, "'", "'", " & "), crowd, w.From, w.Below, limit},
		Scan: func(row Row) error {
			var count, number *int64
			if err := row.Scan(&count, &number); err != nil {
				return err
			}
			if count != nil {
				read = int(*count)
			} else {
				numbers = append(numbers, *number)
			}
			return nil
		},
	})
	switch {
	case err != nil:
		return nil, true, err
	case read == crowd && w.level > 0:
		w.crowd(start)
		return nil, false, nil
	case len(numbers) == limit:
		w.Below = numbers[limit-1]
		return numbers, w.Below <= w.From, nil
	}
	w.Below = max(start, w.From)
	w.widen()
	return numbers, w.Below <= w.From, nil
}

// crowd notes that a span has too many documents, and goes on with shorter ones.
func (w *WordSearch) crowd(start int64) {
	if w.crowded == nil {
		w.crowded = make(map[int]int64)
	}
	w.crowded[w.level] = start
	w.level--
}

// widen goes on with longer spans, unless the next one is known to have too many documents.
func (w *WordSearch) widen() {
	next := w.level + 1
	start, crowded := w.crowded[next]
	if next <= spanLevels && (!crowded || start != spanOf(w.Below-1, next)) {
		w.level = next
	}
}
