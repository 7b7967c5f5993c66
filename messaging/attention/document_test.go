package attention

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/messaging/message"
)

// The table that users read has the rows and the cells of the code, in the same order.
func TestTheDocumentShowsTheTable(t *testing.T) {
	document, err := os.ReadFile("../../docs/attention.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(document), "\n## The table\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	var documented [][]string
	for line := range strings.SplitSeq(section, "\n") {
		if cells := strings.Split(strings.Trim(line, "| "), " | "); strings.HasPrefix(line, "| ") {
			documented = append(documented, cells)
		}
	}
	types := []message.Type{request, response, notice, broadcast}
	require.Equal(t, []string{"The message", "`request`", "`response`", "`notify`", "`broadcast`"}, documented[0])
	documented = documented[1:]
	require.Len(t, documented, len(table))
	for i, row := range table {
		for j, on := range types {
			want := "-"
			if verdict, found := row.cells[on]; found {
				want = verdict.words()
			}
			require.Equal(t, want, documented[i][1+j], "%s, %s", documented[i][0], on)
		}
	}
}
