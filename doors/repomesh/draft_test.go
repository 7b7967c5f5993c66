package repomesh

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/doors"
)

// ann is a session of an agent that makes no call.
func ann() *session {
	return &session{door: New(Config{}), caller: &doors.Caller{Agent: "ann"}, room: modelPayload, page: modelPage}
}

// The seed's own examples are taken as they are, except that their authors are not the caller.
func TestTheProtocolsExamplesAreTaken(t *testing.T) {
	for _, example := range []string{
		`{"type":"agent.chat","severity":"info","payload":{"from":"ann","from_id":"ann","to":"all","subject":"System Update",
			"content":"New protocol deployed!","timestamp":"2026-02-22T23:20:00Z"}}`,
		`{"type":"agent.chat","severity":"info","payload":{"from":"ann","from_id":"ann","to":"ben","subject":"Re: Code Review Request",
			"content":"Sure!","parent_message_id":"parent-uuid-here","timestamp":"2026-02-22T23:21:00Z"}}`,
		`{"type":"agent.chat","payload":{"content":"Hey @ben, check this out!","mentions":["ben"]}}`,
		`{"type":"review.finding","severity":"warning","agent_id":"ann","payload":{"reviewer_id":"ann","task_id":"t","file_path":"src/auth.py",
			"line_number":42,"severity":"warning","message":"SQL injection","suggestion":"Use parameters","parent_message_id":null,"code_snippet":"q"}}`,
		`{"type":"test.result","severity":"info","agent_id":"ann","payload":{"task_id":"t","suite_name":"e2e/auth","passed":15,"failed":2,
			"skipped":0,"total":17,"duration_ms":4521,"failures":[{"test":"login","error":"timeout","message":"m"}],"artifacts":["/logs/1"]}}`,
		`{"type":"agent.error","severity":"error","payload":{"from":"ann","original_action":"task.claim","error_code":"LOCK_CONFLICT",
			"message":"Resource already locked","retry_after_ms":2000,"retry_count":1}}`,
	} {
		var given logArguments
		require.NoError(t, doors.ReadArguments("event.log", json.RawMessage(example), nil, &given), example)
		_, err := ann().draft(given)
		require.NoError(t, err, example)
	}
}

func TestLegacyTypesBecomeChats(t *testing.T) {
	for said, wanted := range map[string][2]string{
		"agent.chat": {chat, ""}, "agent.message": {chat, "agent.message"}, "chat.message": {chat, "chat.message"}, "own": {"own", ""},
	} {
		name, legacy, err := typeOf(said)
		require.NoError(t, err)
		require.Equal(t, wanted, [2]string{name, legacy})
	}
}

// Whatever somebody sends as an event, it is refused, or it is the caller's and keeps what the server vouches for out of the payload.
func FuzzDraft(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `[]`, `{"payload":{"content":"x"}}`, `{"payload":{"content":"x","from":"ben"}}`, `{"payload":{"content":"x","mentions":[1]}}`,
		`{"type":"test.result","payload":{"passed":1,"failed":0,"failures":[{"test":"a"},{"test":"a"}]}}`,
		`{"type":"review.finding","payload":{"task_id":"t","file_path":"f","message":"m","line_number":1e3}}`,
		`{"payload":{"to":["ben"],"content":{}}}`, `{"payload":{"content":"x","metadata":{"repomesh":{"severity":"x"}}}}`,
		`{"payload":{"content":"x","timestamp":"2026-02-22T23:20:00Z","channel":"c"},"channel":"c"}`, `{"payload":{"content":"x"},"payload":{}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var given logArguments
		if doors.ReadArguments("event.log", text, []string{"payload"}, &given) != nil {
			return
		}
		d, err := ann().draft(given)
		if err != nil {
			return
		}
		for name := range d.payload.GetFields() {
			require.False(t, slices.Contains(baseMembers, name), name)
		}
		for _, name := range []string{"from", "from_id", "agent_id", "reviewer_id"} {
			if said := d.values[name]; said != nil && said != "" {
				require.Equal(t, "ann", said)
			}
		}
		failedTests(d.values)
		_, err = json.Marshal(d.payload.AsMap())
		require.NoError(t, err)
	})
}

// Whatever somebody sends to any action, its arguments are read or refused.
func FuzzArguments(f *testing.F) {
	f.Add(0, []byte(`{"limit":1,"since":"2026-02-22T23:20:00Z"}`))
	f.Add(1, []byte(`{"capabilities":{"a":[1]}}`))
	f.Add(2, []byte(`{"capabilities":"a, b,,"}`))
	f.Fuzz(func(t *testing.T, which int, text []byte) {
		var list listArguments
		if doors.ReadArguments("event.list", text, nil, &list) == nil {
			if g, err := list.gathering(ann()); err == nil {
				require.NotNil(t, g.page().Items, "a list is never null")
			}
		}
		var register registerArguments
		if doors.ReadArguments("agent.register", text, nil, &register) == nil {
			_, _, _ = capabilitiesOf(register.Capabilities)
		}
		require.GreaterOrEqual(t, retriesIn(text), 0)
	})
}
