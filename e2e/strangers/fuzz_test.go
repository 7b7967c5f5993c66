package strangers

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// newRoom starts a server and returns the path of a channel's messages.
func newRoom(f *testing.F) (alice *harness.Caller, messages string) {
	h := harness.Start(f, harness.Options{})
	alice = h.As("alice")
	var made struct{ ID string }
	answer := alice.REST(f, "POST", "/v1/intents", `{"title":"Fuzz"}`)
	answer.Decode(f, &made)
	answer = alice.REST(f, "POST", "/v1/intents/"+made.ID+"/channels", `{"name":"room"}`)
	answer.Decode(f, &made)
	return alice, "/v1/channels/" + made.ID + "/messages"
}

// FuzzRESTBody sends arbitrary text as the body of a message. The server stores it and returns it equal, or refuses
// it in the documented form.
func FuzzRESTBody(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `{"payload":{}}`, `{"payload":{"n":1e21,"t":"\ud83d\ude00","l":[null,true,{}]},"metadata":{"a":0.1}}`,
		`{"payload":{"n":9007199254740993}}`, `{"payload":{},"to":"bob","message_type":"request"}`, `{"payload":{"a":1,"a":2}}`,
		`{"payload":{"t":"\ud800"}}`, "{\"payload\":{\"t\":\"\xff\"}}", `[[[[`, `{"payload":{},"expires_at":"2099-01-01T00:00:00+02:00"}`,
	} {
		f.Add(seed)
	}
	alice, messages := newRoom(f)
	f.Fuzz(func(t *testing.T, body string) {
		answer := alice.REST(t, "POST", messages, body)
		if answer.Status != http.StatusCreated {
			refusedAsDocumented(t, answer)
			return
		}
		var sent, stored struct{ Payload, Metadata any }
		require.NoError(t, json.Unmarshal([]byte(body), &sent), "%q was stored", body)
		answer.Decode(t, &stored)
		require.Equal(t, sent.Payload, stored.Payload)
		if sent.Metadata != nil {
			require.Equal(t, sent.Metadata, stored.Metadata)
		}
	})
}

// FuzzCursor lists messages after an arbitrary cursor. The server accepts it as a cursor, or refuses it in the
// documented form.
func FuzzCursor(f *testing.F) {
	for _, seed := range []string{
		"", "0", "msg_00000000000000000000000000", "2026-02-13T10:00:00Z", "2026-02-13T10:00:00.000000001+14:00", "9999-12-31T23:59:59Z",
		"0000-01-01T00:00:00Z", "\x00", "\xff", "null", "-1", "2026-02-13 10:00:00",
	} {
		f.Add(seed)
	}
	alice, messages := newRoom(f)
	f.Fuzz(func(t *testing.T, cursor string) {
		answer := alice.REST(t, "GET", messages+"?since="+url.QueryEscape(cursor), "")
		if answer.Status != http.StatusOK {
			refusedAsDocumented(t, answer)
			return
		}
		require.True(t, utf8.ValidString(cursor))
		require.JSONEq(t, `[]`, string(answer.Body))
	})
}

// refusedAsDocumented checks a refusal whose reason depends on the input.
func refusedAsDocumented(t *testing.T, answer harness.Answer) {
	t.Helper()
	var p problem
	answer.Decode(t, &p)
	require.Contains(t, []int{400, 413}, answer.Status, string(answer.Body))
	refusal{status: answer.Status, code: p.Code, reason: p.Reason}.check(t, answer)
}
