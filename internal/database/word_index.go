package database

import "strings"

// A word index finds numbered documents by words. It is the table search_words: FTS5 on SQLite, a tsvector with a GIN index on
// PostgreSQL. Who calls decides what a word is: each must consist of ASCII letters and digits in lower case, of underscores, and of
// other characters than ASCII, so that both engines keep it as it is. Numbers are times that have been made distinct, so the newest
// document has the highest number.

// NumberBits is how many low bits of a document's number distinguish documents of the same microsecond.
const NumberBits = 11

// IndexedWords are the different words of one document.
type IndexedWords struct {
	Number int64
	Words  []string
}

// IndexWords returns the statements that add documents. The index must not have one with the same number.
func (tx *Tx) IndexWords(documents []IndexedWords) []Statement {
	if len(documents) == 0 {
		return nil
	}
	return tx.db.dialect.indexWords(documents)
}

// ForgetWords returns the statement that removes documents. Some of them may be absent.
func (tx *Tx) ForgetWords(numbers []int64) Statement {
	condition, argument := tx.In(tx.db.dialect.wordNumber(), numbers)
	return Statement{SQL: "DELETE FROM search_words WHERE " + condition, Args: []any{argument}}
}

// EmptyWords returns the statements that quickly empty the index and the other tables that belong to it.
func (tx *Tx) EmptyWords(others ...string) []Statement { return tx.db.dialect.emptyWords(others) }

// MergeWords returns the statements that do some of the work that keeps the index fast. Run them in a transaction of their own, once
// for some hundreds of documents.
func (tx *Tx) MergeWords() []Statement { return tx.db.dialect.mergeWords() }

// PurgeWords returns the statements after which the engine keeps nothing of documents that were removed, where it otherwise keeps their
// words until it merges them. They rewrite the whole index.
func (tx *Tx) PurgeWords() []Statement { return tx.db.dialect.purgeWords() }

// CommitLazily returns the statements after which the transaction's commit need not wait for the disk, where the engine can do that. After a
// crash of the database, the last such transactions may be missing, in the order of their commits. So a transaction may do that if what
// it stores can be found out again.
func (tx *Tx) CommitLazily() []Statement { return tx.db.dialect.commitLazily() }

// WordSearch goes through the documents that have all words, the newest first.
type WordSearch struct {
	// Words must all occur. From and Below bound the numbers: From <= number < Below. Next lowers Below, so that what is left to
	// look at always lies below it.
	Words       []string
	From, Below int64

	// level and crowded are where the search on PostgreSQL stands (word_index_postgres.go).
	level   int
	crowded map[int]int64
}

// Next returns the next numbers, highest first, at most limit of them. done means that there are no more; without it there may be
// more even if none were found now.
func (w *WordSearch) Next(tx *Tx, limit int) (numbers []int64, done bool, err error) {
	if w.Below <= w.From || len(w.Words) == 0 {
		return nil, true, nil
	}
	return tx.db.dialect.findWords(tx, w, limit)
}

// joinWords writes words as both engines read a list of them. open and shut stand around each word, and between stands between them.
func joinWords(words []string, open, shut, between string) string {
	size := 0
	for _, word := range words {
		size += len(open) + len(word) + len(shut) + len(between)
	}
	var text strings.Builder
	text.Grow(size)
	for i, word := range words {
		if i > 0 {
			text.WriteString(between)
		}
		text.WriteString(open)
		text.WriteString(word)
		text.WriteString(shut)
	}
	return text.String()
}
