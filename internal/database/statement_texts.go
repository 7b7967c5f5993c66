package database

import (
	"strconv"
	"sync"
)

// statementTexts keeps the texts of statements with rows. To put them together anew for each transaction took a fifteenth of the server's
// processor time for a lone ask. There are as many as the program has kinds of such statements, times the few numbers of rows that have
// a text of their own. The zero value has none yet.
type statementTexts struct {
	mutex sync.RWMutex
	texts map[string]string
}

// shape says, together with columns and a number of rows, what the text of a statement is.
type shape struct {
	verb, table, suffix string
	keys, set           int // how many of the columns they are; the others are those that are expected
}

// of returns the text of a statement; build makes it where it is not kept.
func (t *statementTexts) of(s shape, columns []Column, rows int, build func() string) string {
	var space [512]byte // enough for nearly all, so that looking allocates nothing
	key := s.appendKey(space[:0], columns, rows)
	t.mutex.RLock()
	text, kept := t.texts[string(key)]
	t.mutex.RUnlock()
	if kept {
		return text
	}
	text = build()
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.texts == nil {
		t.texts = make(map[string]string)
	}
	t.texts[string(key)] = text
	return text
}

// appendKey appends all that the text depends on. No name has a character that separates here.
func (s shape) appendKey(key []byte, columns []Column, rows int) []byte {
	for _, part := range []string{s.verb, s.table, s.suffix} {
		key = append(append(key, part...), '\n')
	}
	for _, number := range []int{s.keys, s.set, rows} {
		key = append(strconv.AppendInt(key, int64(number), 10), '\n')
	}
	for _, column := range columns {
		key = append(append(append(key, column.Name...), '\t'), typeOf(column)...)
		key = append(key, '\n')
	}
	return key
}

// typeOf names the type of a column's values.
func typeOf(column Column) string {
	switch column.Values.(type) {
	case []int64, []*int64:
		return "bigint"
	case []string, []*string:
		return "text"
	case [][]byte:
		return "bytea"
	case []bool:
		return "boolean"
	}
	panic(unknownValues(column))
}
