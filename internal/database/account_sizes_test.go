package database

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A text is paid for by its bytes, in whatever form a statement has it: as a column of many rows, too, of which some have none.
func TestTextsArePaidForByTheirBytes(t *testing.T) {
	text := "twelve bytes"
	for _, arg := range []any{
		text, &text, []byte(text), []string{text[:5], text[5:]}, []*string{nil, &text, nil}, [][]byte{[]byte(text[:5]), nil, []byte(text[5:])},
	} {
		require.EqualValues(t, len(text), sizeOf(arg), "%T", arg)
	}
	for _, nothing := range []any{nil, "", (*string)(nil), []byte(nil), []string{}, []*string{nil}, [][]byte{nil}} {
		require.Zero(t, sizeOf(nothing), "%T", nothing)
	}
}
