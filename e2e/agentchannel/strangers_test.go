package agentchannel

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// secret is part of everything that a stranger may not see.
const secret = "the-secret-of-ann"

// calls are all routes of a channel.
func calls(id string) [][3]string {
	return [][3]string{
		{"GET", "/" + id, ""}, {"GET", "/" + id + "?format=md", ""}, {"GET", "/" + id + "/spec", ""}, {"GET", "/" + id + "/state", ""},
		{"GET", "/" + id + "/events?limit=500", ""}, {"POST", "/" + id + "/event", `{"kind": "state", "payload": {}}`},
		{"POST", "/" + id + "/event", `{"kind": "comms"}`}, {"POST", "/" + id + "/invite", `{}`}, {"POST", "/" + id + "/close", ""},
	}
}

// A stranger with a key of its own and the address sees nothing and changes nothing. So does a guest of another channel. Without a key
// nobody learns whether there is such a channel.
func TestAStrangerTakesNothingFromAChannel(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		ann, stranger := agent{h.As("ann")}, agent{h.With(harness.BoundKey, "")}
		id, other := ann.open(t, secret), ann.open(t, "another")
		ann.posts(t, id, "spec", `{"secret": "`+secret+`"}`)
		ann.posts(t, id, "state", `{"secret": "`+secret+`"}`)
		guest := ann.invited(t, h, other, `{}`)
		guest.does(t, 200, "GET", "/"+other, "")
		reader := ann.invited(t, h, id, `{"read_only": true}`)
		reader.does(t, 200, "GET", "/"+id, "")
		before := ann.REST(t, "GET", root+"/"+id, "").Body

		absent := "ZZ99"
		if absent == id {
			absent = "ZZ98"
		}
		for i, call := range calls(id) {
			got := stranger.REST(t, call[0], root+call[1], call[2])
			require.Equal(t, 404, got.Status, "%v: %s", call, got.Body)
			require.NotContains(t, string(got.Body), secret, "%v", call)
			require.Contains(t, string(got.Body), "for an invite", "it learns how one gets in")
			none := calls(absent)[i]
			require.Equal(t, string(got.Body), string(stranger.REST(t, none[0], root+none[1], none[2]).Body), "and not whether there is a channel")
			require.Equal(t, "CHANNEL_NOT_FOUND", guest.refused(t, 404, call[0], call[1], call[2]), "a guest elsewhere learns nothing")

			nobody, nowhere := agent{h.With("", "")}, agent{h.With("", "")}
			there, notThere := nobody.REST(t, call[0], root+call[1], call[2]), nowhere.REST(t, none[0], root+none[1], none[2])
			require.Equal(t, 401, there.Status)
			require.Equal(t, string(there.Body), string(notThere.Body))
			if call[0] == http.MethodPost {
				require.Contains(t, []string{"KEY_READ_ONLY", "FORBIDDEN"}, reader.refused(t, 403, call[0], call[1], call[2]))
			}
		}
		listed := stranger.does(t, 200, "GET", "?include_closed=true", "")
		require.Empty(t, list(t, listed, "channels"))
		require.Len(t, list(t, guest.does(t, 200, "GET", "", ""), "channels"), 1)
		require.Equal(t, string(before), string(ann.REST(t, "GET", root+"/"+id, "").Body))
	})
}

// Only a channel that was made for everyone takes everyone, and nobody finds it by trying addresses.
func TestAnOpenChannelIsForEveryone(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		ann, stranger := agent{h.As("ann")}, agent{h.With(harness.BoundKey, "")}
		closed := ann.open(t, "Ours")
		made := ann.does(t, 201, "POST", "", `{"title": "All of us", "open": true}`)
		require.Equal(t, true, made["open"])
		open := text(t, made, "id")
		stranger.posts(t, open, "comms", `"hello"`)
		require.Equal(t, "FORBIDDEN", stranger.refused(t, 403, "POST", "/"+open+"/close", ""))
		require.Equal(t, "FORBIDDEN", stranger.refused(t, 403, "POST", "/"+open+"/invite", `{}`))
		require.Equal(t, []any{open}, ids(list(t, stranger.does(t, 200, "GET", "", ""), "channels")))
		require.Equal(t, "INVALID_FIELD", ann.refused(t, 400, "POST", "", `{"title": "x", "open": true, "intent_id": "`+text(t, made, "intent_id")+`"}`))

		tried := 0
		for ; tried < 40; tried++ {
			if stranger.REST(t, "GET", []string{root + "/" + closed, "/v1/channels/-?address=AA" + fmt.Sprint(44+tried)}[tried%2], "").Status == 429 {
				break
			}
		}
		require.GreaterOrEqual(t, tried, 20)
		require.Less(t, tried, 40, "doors and the API count together")
		for _, id := range []string{open, closed, "ZZ99"} {
			require.Equal(t, "TOO_MANY_WRONG_ADDRESSES", stranger.refused(t, 429, "GET", "/"+id, ""))
		}
		own := stranger.does(t, 201, "POST", "", `{"title": "Mine"}`)
		stranger.does(t, 200, "GET", "/"+text(t, own, "id"), "")
	})
}

// A list begins with the newest channels and leads on to all.
func TestAListLeadsOn(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		ann := agent{h.As("ann")}
		var made []any
		shared := ann.does(t, 201, "POST", "", `{"title": "First"}`)
		made = append(made, shared["id"])
		for i := range 3 {
			made = append(made, ann.does(t, 201, "POST", "", fmt.Sprintf(`{"title": "Shared %d", "intent_id": %q}`, i, shared["intent_id"]))["id"])
		}
		for i := range 60 {
			made = append(made, ann.open(t, fmt.Sprint("Own ", i)))
		}
		late := ann.does(t, 201, "POST", "", `{"title": "Late"}`)
		made = append(made, late["id"])
		for i := range 3 { // so that a page ends amid a page of intents
			made = append(made, ann.does(t, 201, "POST", "", fmt.Sprintf(`{"title": "Late %d", "intent_id": %q}`, i, late["intent_id"]))["id"])
		}
		slices.Reverse(made)
		page := ann.does(t, 200, "GET", "", "")
		require.Equal(t, made[:50], ids(list(t, page, "channels")))
		made = append([]any{ann.open(t, "Meanwhile")}, made...)
		rest := ann.does(t, 200, "GET", "?cursor="+text(t, page, "next_cursor"), "")
		require.Equal(t, made[51:], ids(list(t, rest, "channels")), "a new channel moves none")
		require.Equal(t, false, rest["more"])
		require.Equal(t, "INVALID_FIELD", ann.refused(t, 400, "GET", "?cursor=x", ""))
		link := ann.REST(t, "GET", root, "").Header.Get("Link")
		require.Contains(t, link, root+"?cursor=")
	})
}

// An invite that was revoked opens nothing any more.
func TestARevokedInviteOpensNothing(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		ann := agent{h.As("ann")}
		id := ann.open(t, "Closing doors")
		channel := text(t, ann.does(t, 200, "GET", "/"+id, ""), "channel_id")
		bob := ann.invited(t, h, id, `{}`)
		bob.does(t, 200, "GET", "/"+id, "")
		var invites []object
		ann.REST(t, "GET", "/v1/channels/"+channel+"/invites", "").Decode(t, &invites)
		require.Len(t, invites, 1)
		revoked := ann.REST(t, "POST", fmt.Sprint("/v1/channels/", channel, "/invites/", invites[0]["id"], "/revoke"), "{}")
		require.Equal(t, 200, revoked.Status, "%s", revoked.Body)
		bob.refused(t, 401, "GET", "/"+id, "")
	})
}

// Wrong requests get a status, a reason and a sentence, and change nothing.
func TestWrongRequestsAreRefused(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		ann := agent{h.As("ann")}
		id := ann.open(t, "Strict")
		for _, wrong := range []struct {
			status             int
			reason             string
			method, path, body string
			headers            []string
		}{
			{400, "INVALID_FIELD", "POST", "", `{}`, nil},
			{400, "INVALID_FIELD", "POST", "", `{"title": "` + strings.Repeat("x", 129) + `"}`, nil},
			{400, "INVALID_FIELD", "POST", "", `{"title": "two\nlines"}`, nil},
			{400, "INVALID_FIELD", "POST", "", `{"title": "x", "owner": "bob"}`, nil},
			{404, "INTENT_NOT_FOUND", "POST", "", `{"title": "x", "intent_id": "nowhere"}`, nil},
			{400, "INVALID_FIELD", "GET", "?include_closed=maybe", "", nil},
			{400, "INVALID_FIELD", "GET", "?page=2", "", nil},
			{405, "METHOD_NOT_ALLOWED", "DELETE", "/" + id, "", nil},
			{405, "METHOD_NOT_ALLOWED", "POST", "/" + id + "/events", "{}", nil},
			{404, "ROUTE_NOT_FOUND", "GET", "/" + id + "/nothing", "", nil},
			{404, "ROUTE_NOT_FOUND", "GET", "/" + id + "/events/more", "", nil},
			{400, "INVALID_FIELD", "GET", "/" + id + "/events?limit=many", "", nil},
			{400, "INVALID_FIELD", "GET", "/" + id + "/events?after=nothing", "", nil},
			{400, "INVALID_FIELD", "GET", "/" + id + "/events?kind=a&kind=b", "", nil},
			{404, "DOCUMENT_NOT_FOUND", "GET", "/" + id + "/spec", "", nil},
			{400, "INVALID_FIELD", "POST", "/" + id + "/event", ``, nil},
			{400, "INVALID_FIELD", "POST", "/" + id + "/event", `{"kind": 5}`, nil},
			{400, "INVALID_FIELD", "POST", "/" + id + "/event", `{"kind": "comms", "payload": [1]}`, nil},
			{400, "INVALID_FIELD", "POST", "/" + id + "/event", `{"kind": "comms", "payload": {"n": 1e400}}`, nil},
			{400, "INVALID_FIELD", "POST", "/" + id + "/event", `{"kind": "comms", "kind": "log"}`, nil},
			{400, "INVALID_FIELD", "POST", "/" + id + "/event", `{"kind": "two\nlines"}`, nil},
			{400, "INVALID_FIELD", "POST", "/" + id + "/event", `{"kind": "` + strings.Repeat("k", 65) + `"}`, nil},
			{400, "INVALID_FIELD", "POST", "/" + id + "/event", `[`, nil},
			{400, "INVALID_FIELD", "POST", "/" + id + "/event", `{"kind": "comms"}`, []string{"If-Match", "*"}},
			{400, "INVALID_FIELD", "POST", "/" + id + "/event", `{"kind": "state"}`, []string{"If-Match", `"a", "b"`}},
			{400, "INVALID_FIELD", "POST", "/" + id + "/event", `{"kind": "state"}`, nil},
			{400, "INVALID_FIELD", "POST", "/" + id + "/event", `{"kind": "spec", "payload": null}`, nil},
			{412, "DOCUMENT_CHANGED", "POST", "/" + id + "/event", `{"kind": "state", "payload": {}}`, []string{"If-Match", "*"}},
			{412, "DOCUMENT_CHANGED", "POST", "/" + id + "/event", `{"kind": "state", "payload": {}}`, []string{"If-Match", "W/\"msg_x\""}},
			{413, "PAYLOAD_TOO_LARGE", "POST", "/" + id + "/event", `{"kind": "comms", "payload": "` + strings.Repeat("x", 300_000) + `"}`, nil},
			{413, "BODY_TOO_LARGE", "POST", "/" + id + "/event", `{"kind": "comms", "payload": "` + strings.Repeat("x", 5<<20) + `"}`, nil},
			{400, "INVALID_FIELD", "POST", "/" + id + "/invite", `{"agent": "bob"}`, nil},
			{400, "INVALID_FIELD", "POST", "/" + id + "/invite", `{"expires_s": -1}`, nil},
			{400, "INVALID_FIELD", "POST", "/" + id + "/invite", `{"expires_s": 1e12}`, nil},
			{403, "ORIGIN_NOT_ALLOWED", "GET", "/" + id, "", []string{"Origin", "https://evil.example"}},
		} {
			require.Equal(t, wrong.reason, ann.refused(t, wrong.status, wrong.method, wrong.path, wrong.body, wrong.headers...), "%.200v", wrong)
		}
		require.Empty(t, list(t, ann.does(t, 200, "GET", "/"+id+"/events?limit=0", ""), "events"))
		ann.posts(t, id, "state", `{}`, "If-None-Match", "*")
		require.Equal(t, "DOCUMENT_CHANGED", ann.refused(t, 412, "POST", "/"+id+"/event", `{"kind": "state", "payload": {}}`, "If-None-Match", "*"))
		ann.posts(t, id, "state", `{}`, "If-Match", "*")
		first := ann.posts(t, id, "log", `"once"`, "Idempotency-Key", "k")
		require.Equal(t, first, ann.posts(t, id, "log", `"once"`, "Idempotency-Key", "k"))
		for i, condition := range [][]string{{"If-None-Match", "*"}, nil, {"If-Match", "*"}} {
			kind, headers := []string{"spec", "spec", "state"}[i], append([]string{"Idempotency-Key", fmt.Sprint("document ", i)}, condition...)
			document := ann.posts(t, id, kind, `"whole"`, headers...)
			require.Equal(t, document, ann.posts(t, id, kind, `"whole"`, headers...), "%s %v: its answer may have been lost", kind, condition)
		}
		require.Equal(t, "IDEMPOTENCY_KEY_REUSED", ann.refused(t, 409, "POST", "/"+id+"/event", `{"kind": "log"}`, "Idempotency-Key", "k"))
		require.Equal(t, "AGENT_NEEDED", agent{h.Operator()}.refused(t, 403, "GET", "/"+id, ""), "the operator without a name has no voice here")
	})
}
