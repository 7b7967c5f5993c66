package mcp

import (
	"bufio"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestACallNeedsTheToolThatItNames(t *testing.T) {
	long := strings.Repeat("x", 2*lookedAt)
	for body, want := range map[string]needed{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"send","arguments":{"name":"other"}}}`:        "send",
		`{"params":{"_meta":{"method":"x"},"arguments":{"text":[1,{"name":2}]},"name":"send"},"method":"tools/call"}`: "send",
		`{"method":"tools/call","params":{"name":"send","arguments":{"text":"` + long + `"}}}`:                        "send",
		`{"method":"tools/call","params":{"name":"se\u006ed"}}`:                                                       "send",
		`{"method":"tools/call","params":{"arguments":{"text":"` + long + `"},"name":"send"}}`:                        "",
		`{"params":{"name":"send","arguments":{"text":"` + long + `"}},"method":"tools/call"}`:                        "",
		`{"method":"tools/call","params":{"arguments":{"name":"send"}}}`:                                              "",
		`{"method":"tools/list","params":{"name":"send"}}`:                                                            "",
		`{"method":"ping"}`: "",
		`{"method":"tools/call","params":["name","send"]}`: "",
		`{"method":5,"params":{"name":"send"}}`:            "",
		`{"method":"tools/call","params":{"name":"send`:    "",
		`"tools/call"`: "", `{`: "", ``: "", `{"method"`: "",
	} {
		given := bufio.NewReaderSize(strings.NewReader(body), lookedAt)
		require.Equal(t, want, neededBy(given), body)
		whole := new(strings.Builder)
		_, err := given.WriteTo(whole)
		require.NoError(t, err)
		require.Equal(t, body, whole.String(), "the body is left to be read as a whole")
	}
	require.True(t, needed("").includes(send) && needed("send").includes(send))
	require.False(t, needed("send").includes(ask))
}
