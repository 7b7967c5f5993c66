package doors_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/doors"
)

// wanted are the arguments of an action.
type wanted struct {
	shared
	Target struct {
		Role string `json:"role"`
	} `json:"target"`
	Name   string         `json:"name"`
	Count  *int32         `json:"count"`
	Share  float64        `json:"share"`
	Loud   bool           `json:"loud"`
	Names  []string       `json:"names"`
	Extras map[string]any `json:"extras"`
}

// shared are arguments that several actions have, as their Go types do.
type shared struct {
	deeper
	Loud2 bool `json:"very_loud"`
}

type deeper struct {
	Tries int `json:"tries"`
}

func TestArgumentsAreRead(t *testing.T) {
	var got wanted
	require.NoError(t, doors.ReadArguments("act", json.RawMessage(` {"name":"x","count":3,"extras":{"a":[1]}} `), []string{"name"}, &got))
	require.Equal(t, wanted{Name: "x", Count: new(int32(3)), Extras: map[string]any{"a": []any{1.0}}}, got)
	for _, nothing := range []string{"", " ", "null", " null\n", "{}"} {
		var got wanted
		require.NoError(t, doors.ReadArguments("act", json.RawMessage(nothing), nil, &got), nothing)
		require.NoError(t, doors.ReadBody([]byte(nothing), &got), nothing)
		require.Zero(t, got)
		require.Error(t, doors.ReadArguments("act", json.RawMessage(nothing), []string{"name"}, &got), "something is needed")
	}
}

// Every refusal names the argument, and says what would be right.
func TestWrongArgumentsAreRefused(t *testing.T) {
	for given, expected := range map[string]string{
		`{}`:                                           "name: is missing; act needs it.",
		`{"name":null}`:                                "name: is missing; act needs it.",
		`{"name":1}`:                                   "name: must be a string, and is of the type number.",
		`{"name":"x","count":"1"}`:                     "count: must be a whole number within bounds, and is of the type string.",
		`{"name":"x","count":1.5}`:                     "count: must be a whole number within bounds, and is of the type number.",
		`{"name":"x","count":1e10}`:                    "count: must be a whole number within bounds, and is of the type number.",
		`{"name":"x","share":[]}`:                      "share: must be a number, and is of the type array.",
		`{"name":"x","loud":{}}`:                       "loud: must be true or false, and is of the type object.",
		`{"name":"x","names":"x"}`:                     "names: must be a list, and is of the type string.",
		`{"name":"x","extras":false}`:                  "extras: must be an object, and is of the type bool.",
		`{"name":"x","very_loud":7}`:                   "very_loud: must be true or false, and is of the type number.",
		`{"name":"x","tries":"7"}`:                     "tries: must be a whole number within bounds, and is of the type string.",
		`{"name":"x","target":{"role":7}}`:             "target.role: must be a string, and is of the type number.",
		`{"name":"x","target":{"rule":7}}`:             "target.rule: is no argument of act; leave it out.",
		`{"name":"x","TARGET":{"Role":7}}`:             "target.role: must be a string, and is of the type number.",
		`{"name":"x","agent":"bob"}`:                   "agent: is no argument of act; leave it out, or give one of these: tries, very_loud, target, name, count, share, loud, names, extras.",
		`{"name":"x","name":"y"}`:                      `arguments: `,
		`{"name":"x","extras":{"n":9007199254740993}}`: "extras.n",
		`[]`:             "arguments",
		`{"name":"x"}{}`: "arguments",
		`{"name":`:       "name: the JSON text ends too early.",
	} {
		var got wanted
		refusal := doors.RefusalOf(doors.ReadArguments("act", json.RawMessage(given), []string{"name"}, &got))
		require.Equal(t, "INVALID_FIELD", refusal.Reason, given)
		require.Contains(t, refusal.Message, expected, given)
		require.Regexp(t, `\.$`, refusal.Message)
	}
	require.Contains(t, doors.RefusalOf(doors.ReadBody([]byte(`[]`), &wanted{})).Message, "body")
	require.Contains(t, doors.RefusalOf(doors.ReadBody([]byte(`{"x":1}`), &wanted{})).Message, "x: is no argument of this request; leave it out, or give one of these: ")
}

// Whatever somebody sends, it is read or refused, and what is read is JSON.
func FuzzReadArguments(f *testing.F) {
	f.Add([]byte(`{"name":"x","count":1,"extras":{"a":[null]}}`))
	f.Add([]byte(`{"name":"x","name":"y"}`))
	f.Fuzz(func(t *testing.T, given []byte) {
		var got wanted
		if err := doors.ReadArguments("act", given, []string{"name"}, &got); err != nil {
			require.Equal(t, "INVALID_FIELD", doors.RefusalOf(err).Reason)
			return
		}
		require.True(t, json.Valid(given))
	})
}
