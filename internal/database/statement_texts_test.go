package database

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTextsAreMadeOnce(t *testing.T) {
	var texts statementTexts
	made := 0
	text := func(s shape, rows int, columns ...Column) string {
		return texts.of(s, columns, rows, func() string {
			made++
			return s.verb
		})
	}
	id, owner := Column{Name: "id", Values: []int64{1}}, Column{Name: "owner", Values: []string{"o"}}
	insert := shape{verb: "insert", table: "things"}
	require.Equal(t, "insert", text(insert, 1, id, owner))
	require.Equal(t, "insert", text(insert, 1, id, Column{Name: "owner", Values: []*string{nil}}))
	require.Equal(t, 1, made)
	require.Zero(t, testing.AllocsPerRun(100, func() { texts.of(insert, []Column{id, owner}, 1, nil) }), "to look costs nothing")

	text(insert, 2, id, owner)
	text(insert, 1, owner, id)
	text(insert, 1, id)
	text(insert, 1, id, Column{Name: "owner", Values: [][]byte{nil}})
	text(shape{verb: "insert", table: "pairs"}, 1, id, owner)
	text(shape{verb: "insert", table: "things", suffix: " ON CONFLICT DO NOTHING"}, 1, id, owner)
	text(shape{verb: "update", table: "things", keys: 1, set: 1}, 1, id, owner)
	text(shape{verb: "update", table: "things", keys: 2}, 1, id, owner)
	require.Equal(t, 9, made, "each of them has a text of its own")
}
