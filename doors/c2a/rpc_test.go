package c2a

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatIsAFrame(t *testing.T) {
	for text, problem := range map[string]*rpcError{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`:                   nil,
		`{"jsonrpc":"2.0","id":"a","method":"ping"}`:                 nil,
		`{"jsonrpc":"2.0","id":-1.5,"method":"ping"}`:                nil,
		` {"jsonrpc":"2.0","method":"notifications/x","params":{}}`:  nil,
		`{"jsonrpc":"2.0","id":"a","result":{}}`:                     nil,
		`{"jsonrpc":"2.0","id":"a","error":{"code":1,"message":""}}`: nil,
		`{"jsonrpc":"2.0","id":"a","result":{},"error":{"code":1}}`:  errNoFrame,
		`{"jsonrpc":"2.0","id":{},"method":"ping"}`:                  errNoFrame,
		`{"jsonrpc":"2.0","id":true,"method":"ping"}`:                errNoFrame,
		`{"jsonrpc":"2.0","id":null,"method":"ping"}`:                errNoFrame,
		`{"jsonrpc":"1.0","id":1,"method":"ping"}`:                   errNoFrame,
		`{"id":1,"method":"ping"}`:                                   errNoFrame,
		`{"jsonrpc":"2.0"}`:                                          errNoFrame,
		`{"jsonrpc":"2.0","id":1,"method":5}`:                        errNoFrame,
		`null`:                                                       errNoFrame,
		`"text"`:                                                     errNoFrame,
		`[]`:                                                         errBatch,
		` [{"jsonrpc":"2.0","id":1,"method":"ping"}]`:                errBatch,
		``:                                     errNotJSON,
		`{"jsonrpc":"2.0","id":1,"method":"pi`: errNotJSON,
		`{} {}`:                                errNotJSON,
		`{"jsonrpc":"2.0","id":"` + "\xff" + `","method":"ping"}`:           errNotJSON,
		strings.Repeat(`{"a":`, 20_000) + `1` + strings.Repeat("}", 20_000): errNotJSON,
	} {
		_, got := parse([]byte(text))
		require.Equal(t, problem, got, "%.80s", text)
	}
}

// Whatever a stranger sends is a frame of one of three kinds, or is refused with a code and a reason.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2026-06-02"}}`, `{"jsonrpc":"2.0","id":"a","result":{}}`,
		`[1]`, `{`, "\xff", `{"jsonrpc":"2.0","id":"a","error":{"code":-1,"message":"x","data":[]}}`, `{"jsonrpc":"2.0","ID":[],"method":"x"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		frame, problem := parse(text)
		if problem != nil {
			require.NotEmpty(t, problem.Data.Reason)
			require.Negative(t, problem.Code)
			return
		}
		require.Equal(t, version, frame.Version)
		if frame.Method == "" {
			require.NotNil(t, frame.ID)
		}
		_, err := encode(failure{version, frame.ID, errNoFrame})
		require.NoError(t, err, "its id can be sent back")
	})
}

// Whatever a harness says of itself, there are terms or a refusal.
func FuzzAgree(f *testing.F) {
	f.Add([]byte(`{"protocolVersion":"2026-06-02","capabilities":{"injection":{"buffered":true}}}`))
	f.Add([]byte(`{"protocolVersion":"9","capabilities":{"delivery":{"compose":true,"digestSeconds":60}}}`))
	f.Add([]byte(`{"protocolVersion":5}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		agreed, err := agree(text)
		if err != nil {
			require.Equal(t, "INVALID_FIELD", refused(err).Data.Reason)
			return
		}
		require.Contains(t, []string{draftJune2, draftJune24}, agreed.draft)
		_, err = encode(agreed.describe("bob", "1"))
		require.NoError(t, err)
	})
}
