package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPayloads(t *testing.T) {
	text := func(text string) *string { return &text }
	onFile := "@" + file(t, ` {"from": "a file"} `)
	for _, test := range []struct {
		name  string
		given payloadFlags
		want  map[string]any
	}{
		{"JSON", payloadFlags{Payload: `{"a": [1, null, "x"]}`}, map[string]any{"a": []any{1.0, nil, "x"}}},
		{"empty", payloadFlags{Payload: `{}`}, map[string]any{}},
		{"a file", payloadFlags{Payload: onFile}, map[string]any{"from": "a file"}},
		{"standard input", payloadFlags{Payload: "-"}, map[string]any{"typed": true}},
		{"text", payloadFlags{Text: text("say \"hi\"\n")}, map[string]any{"text": "say \"hi\"\n"}},
		{"empty text", payloadFlags{Text: text("")}, map[string]any{"text": ""}},
		{
			"pairs", payloadFlags{Pairs: []string{"a=1", "b:=1", "c=x=y", `d:={"e": []}`, "f="}},
			map[string]any{"a": "1", "b": 1.0, "c": "x=y", "d": map[string]any{"e": []any{}}, "f": ""},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			payload, err := test.given.read(terminal{stdin: strings.NewReader(`{"typed": true}`)})
			require.NoError(t, err)
			require.Equal(t, test.want, payload)
		})
	}
}

func TestPayloadRefusals(t *testing.T) {
	text := "x"
	for _, test := range []struct {
		given payloadFlags
		says  string
	}{
		{payloadFlags{}, "give the payload once"},
		{payloadFlags{Payload: "{}", Text: &text}, "give the payload once"},
		{payloadFlags{Payload: "[]"}, "must be a JSON object"},
		{payloadFlags{Payload: `{"a": 1`}, "payload: the JSON text ends too early"},
		{payloadFlags{Payload: `{"a": 9007199254740993}`}, "payload.a"},
		{payloadFlags{Payload: "@" + filepath.Join(t.TempDir(), "none")}, "cannot be read"},
		{payloadFlags{Payload: "-"}, "JSON"},
		{payloadFlags{Pairs: []string{"a"}}, `not "a"`},
		{payloadFlags{Pairs: []string{":=1"}}, `not ":=1"`},
		{payloadFlags{Pairs: []string{"a:=x"}}, "-p a: "},
		{payloadFlags{Pairs: []string{"a=1", "a=2"}}, "twice"},
		{payloadFlags{Pairs: []string{"a=\xff"}}, "UTF-8"},
	} {
		_, err := test.given.read(terminal{stdin: strings.NewReader("")})
		require.ErrorContains(t, err, test.says)
		require.Equal(t, exitUsage, exitCode(err), test.says)
	}
}
