package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestACursorIsReadAsItWasWritten(t *testing.T) {
	for cursor, subjects := range map[string][]subject{
		"0":                          {moreAnswers, aChannel, aThread},
		"17":                         {moreAnswers, aChannel, aThread},
		"01ARZ3NDEKTSV4RRFFQ69G5FAV": {anInbox},
		"01ARZ3NDEKTSV4RRFFQ69G5FAV.01ARZ3NDEKTSV4RRFFQ69G5FAW": {anInbox},
		"msg_01ARZ3NDEKTSV4RRFFQ69G5":                           {aChannel, aThread},
		"2026-07-28T10:00:00Z":                                  {aChannel, aThread},
	} {
		for _, of := range subjects {
			a := &awaited{Subject: of, backlog: new("before")}
			require.NoError(t, a.goOn(cursor))
			if of == moreAnswers {
				require.Equal(t, len(cursor) > 1, a.Seen > 0)
				continue
			}
			require.Equal(t, cursor, a.cursor())
		}
	}
	for cursor, of := range map[string]subject{
		"x": moreAnswers, "-1": moreAnswers, "1001": moreAnswers, "17": anInbox, "abc": anInbox,
		"msg_01ARZ3NDEKTSV4RRFFQ69G5FAV": anInbox, strings.Repeat("01ARZ3NDEKTSV4RRFFQ69G5FAV.", messagesShown) + "01ARZ3NDEKTSV4RRFFQ69G5FAV": anInbox,
	} {
		require.ErrorIs(t, (&awaited{Subject: of}).goOn(cursor), errCursor, cursor)
	}
}

func TestAnAnswerHoldsFewMessages(t *testing.T) {
	var short gathered
	for range messagesShown {
		require.True(t, short.add(messageAnswer{ID: "m"}))
	}
	require.False(t, short.add(messageAnswer{ID: "m"}))

	var long gathered
	text := strings.Repeat("x", answerRoom)
	require.True(t, long.add(messageAnswer{Text: &text}), "the first is there however large it is")
	require.False(t, long.add(messageAnswer{ID: "m"}))
	require.Len(t, long.messages, 1)
}

func TestCollectIsAWordOrANumber(t *testing.T) {
	for given, want := range map[string]string{
		`"2"`: `{"quorum":2}`, `"one"`: `"one"`, `"all"`: `"all"`, `3`: `{"quorum":3}`, `null`: `null`, ``: `null`,
	} {
		collect, err := collected(json.RawMessage(given))
		require.NoError(t, err, given)
		if want == `null` {
			require.Nil(t, collect)
			require.Equal(t, 1, askArguments{}.enough(collect))
			continue
		}
		text, err := collect.MarshalJSON()
		require.NoError(t, err)
		require.JSONEq(t, want, string(text))
	}
	for _, given := range []string{`true`, `1.5`, `{"quorum":2}`, `[1]`} {
		_, err := collected(json.RawMessage(given))
		require.Error(t, err, given)
	}
	collect, err := collected(json.RawMessage(`3`))
	require.NoError(t, err)
	require.Equal(t, 3, askArguments{}.enough(collect), "as many as the question takes")
	require.Equal(t, 2, askArguments{Min: new(2)}.enough(collect), "or as the asker says")
}
