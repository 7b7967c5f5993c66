package repomesh

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

func TestAnEventReachesWhomItIsFor(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann, ben, cleo := h.agent("ann"), h.agent("ben"), h.agent("cleo")
		all := ann.says(t, "agent.chat", object{"from": "ann", "from_id": "ann", "to": "all", "subject": "Hello", "content": "New here."})
		direct := ann.logs(t, object{
			"type": "agent.chat", "severity": "warning", "agent_id": "ann",
			"payload": object{"to": "ben", "content": "Just you.", "timestamp": "2026-02-22T23:20:00Z", "metadata": object{"k": 1}, "extra": object{"a": []any{1}}},
		})["id"].(string)
		reply := ben.says(t, "agent.chat", object{"to": "ann", "content": "Sure.", "parent_message_id": direct})

		require.Equal(t, []string{direct, all}, ids(ben.events(t, "/events/inbox")))
		require.Equal(t, []string{direct}, ids(ben.events(t, "/events/inbox?include_broadcast=false")))
		require.Equal(t, []string{reply}, ids(ann.events(t, "/events/inbox")))
		require.Equal(t, []string{all}, ids(cleo.events(t, "/events/inbox")))
		require.Equal(t, []string{all}, ids(cleo.events(t, "/events")))
		require.Equal(t, []string{all, direct, reply}, ids(ben.events(t, "/events?direction=asc")))

		e := ben.events(t, "/events/inbox")[0]
		require.Equal(t, []any{"agent.chat", "warning", "ann", "default"}, []any{e["type"], e["severity"], e["agent_id"], e["channel"]})
		said := payload(e)
		require.Equal(t, e["created_at"], said["timestamp"])
		delete(said, "timestamp")
		require.Equal(t, object{
			"from": "ann", "from_id": "ann", "to": "ben", "content": "Just you.", "metadata": object{"k": 1.0}, "extra": object{"a": []any{1.0}},
		}, said)
		require.Equal(t, "all", payload(ben.events(t, "/events/inbox")[1])["to"])
		require.Equal(t, "Hello", payload(ben.events(t, "/events/inbox")[1])["subject"])

		thread := cleo.REST(t, "GET", base+"/events/thread/"+direct, "")
		require.Equal(t, 404, thread.Status)
		seen := ann.does(t, "GET", "/events/thread/"+reply, nil)
		require.Equal(t, []string{direct, reply}, ids(items(t, seen, "events")))
		require.Equal(t, direct, payload(seen["message"].(object))["parent_message_id"])
	})
}

func TestALegacyTypeIsAChat(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann := h.agent("ann")
		old := ann.logs(t, object{"type": "chat.message", "payload": object{"content": "old"}})
		require.Equal(t, "agent.chat", old["type"])
		require.Contains(t, old["note"], "chat.message")
		other := ann.says(t, "agent.message", object{"content": "older"})
		plain := ann.says(t, "agent.chat", object{"content": "new"})
		ann.says(t, "team.word", object{"anything": true})
		require.Equal(t, []string{plain, other, old["id"].(string)}, ids(ann.events(t, "/events?type=agent.chat")))
		require.Equal(t, []string{old["id"].(string)}, ids(ann.events(t, "/events?type=chat.message")))
		require.Equal(t, "agent.message", ann.events(t, "/events?type=agent.message")[0]["legacy_type"])
	})
}

func TestAMentionIsFound(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann, ben := h.agent("ann"), h.agent("ben")
		ben.says(t, "agent.chat", object{"content": "I take part."})
		ann.says(t, "agent.chat", object{"content": "Hey @ben, check this out! `@cleo`"})
		require.Equal(t, []any{"ben"}, payload(ben.events(t, "/events/inbox")[0])["mentions"])
		given := ann.says(t, "agent.chat", object{"content": "look", "mentions": []string{"cleo"}})
		require.Equal(t, []any{"cleo"}, payload(ann.does(t, "GET", "/events/thread/"+given, nil)["message"].(object))["mentions"])
		var attention object
		ben.REST(t, "GET", "/v1/channels/-/messages/"+given, "").Decode(t, &attention)
		require.Equal(t, []any{"cleo"}, attention["mentions"])
	})
}

func TestPagesLeadOnByTime(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann, ben := h.agent("ann"), h.agent("ben")
		var sent []string
		for i := range 12 {
			sent = append(sent, ann.logs(t, object{
				"channel": []string{"default", "work", "docs"}[i%3], "payload": object{"to": []string{"all", "ben"}[i%2], "content": "x"},
			})["id"].(string))
		}
		walk := func(path, by string, first string) (all []string) {
			at := first
			for range 20 {
				page := ben.does(t, "GET", path+at, nil)
				all = append(all, ids(items(t, page, "events"))...)
				if page["next"] == nil {
					return all
				}
				at = "&" + query(by, page["next"].(string))[1:]
			}
			t.Fatal("the pages do not end")
			return nil
		}
		backwards := make([]string, len(sent))
		for i, id := range sent {
			backwards[len(sent)-1-i] = id
		}
		for _, limit := range []string{"1", "5", "12", "100"} {
			require.Equal(t, sent, walk("/events/inbox?direction=asc&limit="+limit, "since", ""), limit)
			require.Equal(t, backwards, walk("/events/inbox?limit="+limit, "before", ""), limit)
		}
		require.Equal(t, []string{sent[1], sent[4], sent[7], sent[10]}, walk("/events/inbox?channel=work&direction=asc&limit=3", "since", ""))
		require.Empty(t, ben.events(t, "/events?channel=nowhere"))
	})
}

// A page that looked at large events of others, and at nothing behind them, leads on.
func TestPagesLeadOnBehindLargeEvents(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann, ben := h.agent("ann"), h.agent("ben")
		for range 14 {
			ann.says(t, "agent.chat", object{"content": strings.Repeat("large ", 40_000)})
		}
		sent := ben.says(t, "agent.chat", object{"content": "small"})
		var all []string
		for at := ""; ; {
			page := ben.does(t, "GET", "/events?direction=asc&limit=100&agent_id=ben"+at, nil)
			all = append(all, ids(items(t, page, "events"))...)
			if page["next"] == nil {
				break
			}
			at = "&" + query("since", page["next"].(string))[1:]
		}
		require.Equal(t, []string{sent}, all)
	})
}

func TestASearchFindsWordsAndFilters(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann, ben := h.agent("ann"), h.agent("ben")
		one := ann.says(t, "agent.chat", object{"to": "ben", "content": "The parser broke."})
		two := ben.says(t, "team.note", object{"text": "A parser, again."})
		require.Eventually(t, func() bool { return len(ben.events(t, "/events/search?keyword=parser")) == 2 }, harness.Patience, tick)
		require.Equal(t, []string{two, one}, ids(ben.events(t, "/events/search?keyword=parser")))
		require.Equal(t, []string{one}, ids(ben.events(t, "/events/search?keyword=parser&from=ann")))
		require.Equal(t, []string{two}, ids(ben.events(t, "/events/search?keyword=parser&to=all")))
		require.Equal(t, []string{two}, ids(ben.events(t, "/events/search?keyword=parser&type=team.note")))
		require.Equal(t, []string{two}, ids(h.agent("cleo").events(t, "/events/search?keyword=parser")))
		require.Equal(t, []string{one}, ids(ben.events(t, "/events/search?from=ann")))
		require.Equal(t, []string{two}, ids(ben.events(t, "/events/search?to=all")))
		require.Equal(t, []string{one}, ids(ben.events(t, "/events?payload_contains=BROKE")))
	})
}

func TestReceiptsSayWhoHasRead(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann, ben := h.agent("ann"), h.agent("ben")
		sent := ann.says(t, "agent.chat", object{"to": "ben", "content": "x"})
		receipts := func() object { return ann.does(t, "GET", "/events/thread/"+sent, nil)["receipts"].(object) }
		require.Equal(t, "delivered", ben.events(t, "/events/inbox")[0]["status"])
		require.Equal(t, object{"message_id": sent, "read_by": []any{}}, receipts())
		ben.does(t, "POST", "/events/inbox", object{"mark_read": true})
		require.Equal(t, "ben", receipts()["read_by"].([]any)[0].(object)["agent_id"])
		require.Equal(t, "read", ben.events(t, "/events/inbox")[0]["status"])
		require.Nil(t, ben.does(t, "GET", "/events/thread/"+sent, nil)["receipts"])
	})
}

func TestARequestIsAnsweredByAReply(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		asker, ann := h.As("asker"), h.agent("ann")
		ann.says(t, "agent.chat", object{"content": "I am here."})
		var channel, question object
		asker.REST(t, "POST", "/v1/intents/repomesh/channels/default/messages", `{"message_type":"request","to":"ann","payload":{"text":"Which?"}}`).
			Decode(t, &question)
		asker.REST(t, "GET", "/v1/channels/"+question["channel_id"].(string), "").Decode(t, &channel)
		seen := ann.events(t, "/events/inbox")[0]
		require.Equal(t, []any{"request", "Which?"}, []any{seen["message_type"], payload(seen)["content"]})
		ann.says(t, "agent.chat", object{"content": "This.", "parent_message_id": question["id"]})
		var answers []object
		asker.REST(t, "GET", "/v1/channels/"+question["channel_id"].(string)+"/messages/"+question["id"].(string)+"/responses", "").Decode(t, &answers)
		require.Len(t, answers, 1)
		require.Equal(t, object{"content": "This."}, answers[0]["payload"])
	})
}

func TestAnEventFitsItsType(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann := h.agent("ann")
		for what, event := range map[string]object{
			"no content":        {"payload": object{"to": "all"}},
			"a number":          {"payload": object{"content": 1}},
			"no payload":        {"type": "agent.chat"},
			"a severity":        {"severity": "fatal", "payload": object{"content": "x"}},
			"a long type":       {"type": "x12345678901234567890123456789012345678901234567890123456789012345", "payload": object{}},
			"a timestamp":       {"payload": object{"content": "x", "timestamp": "yesterday"}},
			"a mention":         {"payload": object{"content": "x", "mentions": "ben"}},
			"metadata":          {"payload": object{"content": "x", "metadata": 1}},
			"no file":           {"type": "review.finding", "payload": object{"task_id": "t", "message": "m"}},
			"a line":            {"type": "review.finding", "payload": object{"task_id": "t", "file_path": "f", "message": "m", "line_number": -1}},
			"no task":           {"type": "review.started", "payload": object{}},
			"half a test":       {"type": "test.result", "payload": object{"passed": 0.5, "failed": 0}},
			"a failure":         {"type": "test.result", "payload": object{"passed": 0, "failed": 1, "failures": []any{object{}}}},
			"too much":          {"type": "task.progress", "payload": object{"task_id": "t", "progress_percent": 101}},
			"an unknown task":   {"payload": object{"content": "x", "task_id": "t"}},
			"an unknown member": {"payload": object{"content": "x"}, "sender": "ben"},
			"two recipients":    {"recipient_id": "ben", "payload": object{"content": "x", "to": "cleo"}},
			"a list for a name": {"payload": object{"content": "x", "to": []any{"ben"}}},
		} {
			said := ann.refused(t, 400, "POST", "/events", event)
			require.Equal(t, "INVALID_PAYLOAD", said["error_code"], what)
			require.Nil(t, said["retry_after_ms"], what)
			require.Equal(t, []any{"ann", "event.log"}, []any{said["from"], said["original_action"]}, what)
		}
		for _, event := range []object{
			{"agent_id": "ben", "payload": object{"content": "x"}},
			{"payload": object{"content": "x", "from": "ben"}},
			{"payload": object{"content": "x", "from_id": "ben"}},
			{"type": "review.started", "payload": object{"reviewer_id": "ben", "task_id": "t"}},
		} {
			require.Equal(t, "PERMISSION_DENIED", ann.refused(t, 403, "POST", "/events", event)["error_code"])
		}
		require.Equal(t, 404, ann.REST(t, "POST", base+"/events", `{"payload":{"content":"x","parent_message_id":"nope"}}`).Status)
		require.Empty(t, typed(ann.events(t, "/events"), "agent.chat"))
		once := func() any {
			made := ann.REST(t, "POST", base+"/events", `{"payload":{"content":"x"}}`, "Idempotency-Key", "k")
			require.Equal(t, 201, made.Status)
			var answer object
			made.Decode(t, &answer)
			return answer["id"]
		}
		first := once()
		require.Equal(t, first, once())
	})
}

func TestAThreadShowsReactions(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann := h.agent("ann")
		sent := ann.logs(t, object{"payload": object{"content": "x"}})
		path := "/v1/channels/" + sent["channel_id"].(string) + "/messages/" + sent["id"].(string) + "/reactions/agree"
		require.Equal(t, 200, h.As("ben").REST(t, "PUT", path, "{}").Status)
		seen := ann.does(t, "GET", "/events/thread/"+sent["id"].(string), nil)
		require.Equal(t, []any{object{"message_id": sent["id"], "agent_id": "ben", "signal": "agree"}}, seen["reactions"])
	})
}

// A program asks a role for one answer. Of two agents that hold it, one through MCP and one over REST, one answers.
func TestARoleIsAskedForOneAnswer(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann, ben := h.model(t, "ann"), h.agent("ben")
		for _, name := range []string{"ann", "ben"} {
			require.Equal(t, 201, h.As(name).REST(t, "POST", "/v1/agents", `{"role_id":"reviewer"}`).Status)
			h.agent(name).says(t, "agent.chat", object{"content": "I take part."})
		}
		var question object
		h.As("asker").REST(t, "POST", "/v1/intents/repomesh/channels/default/messages",
			`{"message_type":"request","to":"role:reviewer","collect":"one","payload":{"question":"May it go out?"}}`).Decode(t, &question)
		require.Equal(t, "May it go out?", payload(ben.events(t, "/events/inbox?limit=1")[0])["content"])
		answer, refused := ann.calls(t, "event.log", object{"payload": object{"content": "It may.", "parent_message_id": question["id"]}})
		require.False(t, refused, answer)
		said := ben.refused(t, 409, "POST", "/events", object{"payload": object{"content": "No.", "parent_message_id": question["id"]}})
		require.Equal(t, "ANSWERED", said["reason"])
		var answers []object
		h.As("asker").REST(t, "GET", "/v1/channels/"+question["channel_id"].(string)+"/messages/"+question["id"].(string)+"/responses", "").Decode(t, &answers)
		require.Len(t, answers, 1)
		require.Equal(t, []any{"ann", object{"content": "It may."}}, []any{answers[0]["sender"], answers[0]["payload"]})
	})
}

// Two servers on one database are one mesh.
func TestTwoServersAreOneMesh(t *testing.T) {
	url := databasetest.URL(t, database.PostgreSQL)
	one, other := &house{Server: harness.Start(t, harness.Options{URL: url})}, &house{Server: harness.Start(t, harness.Options{URL: url})}
	var first sync.WaitGroup // both make the mesh
	for _, h := range []*house{one, other} {
		first.Go(func() { h.As("ann").REST(t, "POST", base+"/events", `{"payload":{"content":"hello"}}`) })
	}
	first.Wait()
	require.Len(t, one.agent("ben").events(t, "/events/inbox"), 2)
	lock := one.agent("ann").does(t, "POST", "/locks/acquire", object{"resource_key": "a", "ttl": 1})
	require.Equal(t, "LOCK_CONFLICT", other.agent("ben").refused(t, 409, "POST", "/locks/acquire", object{"resource_key": "a"})["error_code"])
	require.Eventually(t, func() bool { return len(other.agent("ben").events(t, "/events/inbox?type=lock.auto_released")) == 1 }, harness.Patience, tick)
	require.Equal(t, lock["lock_id"], payload(one.agent("ben").events(t, "/events/inbox?type=lock.auto_released")[0])["lock_id"])
}
