package database

// mergedPages is how many pages one merge of the word index writes at most.
const mergedPages = 256

func (s *sqliteFile) wordNumber() string { return "rowid" }

func (s *sqliteFile) indexWords(documents []IndexedWords) []Statement {
	numbers, texts := make([]int64, len(documents)), make([]string, len(documents))
	for i, d := range documents {
		numbers[i], texts[i] = d.Number, joinWords(d.Words, "", "", " ")
	}
	return s.insert(shape{verb: "insert", table: "search_words"}, []Column{{Name: "rowid", Values: numbers}, {Name: "words", Values: texts}})
}

func (s *sqliteFile) emptyWords(others []string) []Statement {
	statements := []Statement{{SQL: "INSERT INTO search_words (search_words) VALUES ('delete-all')"}}
	for _, table := range others {
		statements = append(statements, Statement{SQL: "DELETE FROM " + table})
	}
	return statements
}

func (s *sqliteFile) mergeWords() []Statement {
	return []Statement{{SQL: "INSERT INTO search_words (search_words, rank) VALUES ('merge', ?)", Args: []any{mergedPages}}}
}

func (s *sqliteFile) purgeWords() []Statement {
	return []Statement{{SQL: "INSERT INTO search_words (search_words) VALUES ('optimize')"}}
}

func (s *sqliteFile) commitLazily() []Statement { return nil } // one setting holds for all of the connection's transactions

// findWords reads the documents in their order, which is that of the index. Quotes around each word keep it a word.
func (s *sqliteFile) findWords(tx *Tx, w *WordSearch, limit int) (numbers []int64, done bool, err error) {
	err = tx.Pipeline(ReadValues(&numbers,
		"SELECT rowid FROM search_words WHERE search_words MATCH ? AND rowid >= ? AND rowid < ? ORDER BY rowid DESC LIMIT ?",
		joinWords(w.Words, `"`, `"`, " "), w.From, w.Below, limit))
	if err != nil || len(numbers) < limit {
		w.Below = w.From
		return numbers, true, err
	}
	w.Below = numbers[len(numbers)-1]
	return numbers, w.Below <= w.From, nil
}
