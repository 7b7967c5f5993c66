package mcp

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/doors"
)

func TestStateAndNoteAreOneLine(t *testing.T) {
	for _, c := range []struct {
		state, note *string
		want        string
	}{
		{new("busy"), nil, "busy"},
		{nil, new("reads"), "reads"},
		{nil, new(""), ""},
		{new("busy"), new("reads"), "busy: reads"},
		{new("busy"), new(""), "busy"},
		{new(strings.Repeat("é", longestState)), new(strings.Repeat("é", longestNote-longestState-2)), strings.Repeat("é", longestState) + ": " + strings.Repeat("é", longestNote-longestState-2)},
	} {
		line, err := statusArguments{c.state, c.note}.line()
		require.NoError(t, err)
		require.Equal(t, c.want, *line)
	}
	line, err := statusArguments{}.line()
	require.NoError(t, err)
	require.Nil(t, line)
	for _, refused := range []statusArguments{
		{new(""), nil}, {new(strings.Repeat("x", longestState+1)), nil}, {nil, new(strings.Repeat("x", longestNote+1))},
		{new("busy"), new(strings.Repeat("x", longestNote-5))},
	} {
		_, err := refused.line()
		require.Equal(t, "INVALID_FIELD", doors.RefusalOf(err).Reason)
	}
}
