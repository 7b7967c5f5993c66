package accounts

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

func TestMain(m *testing.M) { harness.Main(m) }

// place is an intent with a channel, made under a key without a bound.
type place struct {
	t               *testing.T
	h               *harness.Server
	intent, channel string
}

func newPlace(t *testing.T, h *harness.Server) *place {
	p := &place{t: t, h: h}
	p.intent = p.made("alice", "/v1/intents", `{"title":"Work","status":"active"}`)
	p.channel = p.made("alice", "/v1/intents/"+p.intent+"/channels", `{"name":"room","members":["alice","bob"]}`)
	return p
}

// by sends a call under the free key, and returns its answer.
func (p *place) by(agent, method, path, body string) harness.Answer {
	p.t.Helper()
	answer := p.h.With("free", agent).REST(p.t, method, path, body)
	require.Less(p.t, answer.Status, 300, "%s %s: %s", method, path, answer.Body)
	return answer
}

// made returns the id of what a call under the free key makes.
func (p *place) made(agent, path, body string) string {
	p.t.Helper()
	var thing struct{ ID, Name string }
	p.by(agent, "POST", path, body).Decode(p.t, &thing)
	return thing.ID
}

func (p *place) onIntent(path string) string { return "/v1/intents/" + p.intent + path }

func (p *place) onChannel(path string) string { return "/v1/channels/" + p.channel + path }

// message returns the path of a message from bob.
func (p *place) message(body string) string {
	return p.onChannel("/messages/" + p.made("bob", p.onChannel("/messages"), body))
}

const (
	plain   = `{"payload":{"text":"a plain message"}}`
	request = `{"message_type":"request","to":"alice","payload":{"text":"a request"}}`
	obliges = `{"message_type":"request","to":"bob","payload":{"text":"an obligation"},"obligation":{"blocks":"halted"}}`
)

// task returns the path of a task in a status.
func (p *place) task(steps ...string) string {
	path := "/v1/tasks/" + p.made("alice", p.onIntent("/tasks"), `{"name":"a task"}`)
	for _, step := range steps {
		p.by("alice", "POST", path+step, "{}")
	}
	return path
}

// contacts returns a list with a contact of alice's, to which nothing can be sent.
func (p *place) contacts() string {
	return `{"contacts":[{"kind":"webhook","address":"https://name.invalid/` + p.channel + `"}]}`
}

// contact returns the path of such a contact.
func (p *place) contact() string {
	answer := p.by("alice", "PUT", "/v1/agents/alice/contacts", p.contacts())
	var listed struct {
		Contacts []struct {
			ContactID string `json:"contact_id"`
		}
	}
	answer.Decode(p.t, &listed)
	return "/v1/agents/alice/contacts/" + listed.Contacts[0].ContactID
}

// charges are calls of alice, or of the operator, each of which stores something: the method, the path and the body.
var charges = map[string]func(p *place) (method, path, body string){
	"IntentService/OpenIntent":   func(*place) (string, string, string) { return "POST", "/v1/intents/open", `{"title":"Opened"}` },
	"IntentService/CreateIntent": func(*place) (string, string, string) { return "POST", "/v1/intents", `{"title":"Another"}` },
	"IntentService/PatchIntentState": func(p *place) (string, string, string) {
		return "POST", p.onIntent("/state"), `{"patches":[{"op":"set","path":"/a","value":"b"}],"expected_version":1}`
	},
	"IntentService/SetIntentStatus": func(p *place) (string, string, string) {
		return "POST", p.onIntent("/status"), `{"status":"completed","expected_version":1}`
	},
	"IntentService/AssignAgent": func(p *place) (string, string, string) {
		return "POST", p.onIntent("/agents"), `{"agent_id":"bob"}`
	},
	"IntentService/UnassignAgent": func(p *place) (string, string, string) {
		p.by("alice", "POST", p.onIntent("/agents"), `{"agent_id":"bob"}`)
		return "DELETE", p.onIntent("/agents/bob"), ""
	},
	"EventService/AppendEvent": func(p *place) (string, string, string) {
		return "POST", p.onIntent("/events"), `{"event_type":"comment"}`
	},
	"AccessService/SetAccessControl": func(p *place) (string, string, string) {
		return "PUT", p.onIntent("/acl"), `{"default_policy":"closed"}`
	},
	"AccessService/CreateAccessEntry": func(p *place) (string, string, string) {
		return "POST", p.onIntent("/acl/entries"), `{"principal_id":"bob","principal_type":"agent","permission":"read"}`
	},
	"AccessService/DeleteAccessEntry": func(p *place) (string, string, string) {
		id := p.made("alice", p.onIntent("/acl/entries"), `{"principal_id":"bob","principal_type":"agent","permission":"read"}`)
		return "DELETE", p.onIntent("/acl/entries/" + id), ""
	},
	"CoordinatorService/CreateCoordinator": func(p *place) (string, string, string) {
		return "POST", "/v1/coordinators", `{"intent_id":"` + p.intent + `","agent_id":"alice"}`
	},
	"CoordinatorService/RemoveCoordinator": func(p *place) (string, string, string) {
		p.by("alice", "POST", "/v1/coordinators", `{"intent_id":"`+p.intent+`","agent_id":"alice"}`)
		return "DELETE", p.onIntent("/coordinator"), ""
	},
	"AgentService/RegisterAgent": func(p *place) (string, string, string) {
		p.by("alice", "POST", "/v1/agents/register", `{"agent_id":"alice"}`)
		p.by("alice", "DELETE", "/v1/agents/alice", "")
		return "POST", "/v1/agents", `{"agent_id":"alice"}`
	},
	"AgentService/UpsertAgent": func(*place) (string, string, string) {
		return "POST", "/v1/agents/register", `{"agent_id":"alice"}`
	},
	"AgentService/UpdateAgentStatus": func(p *place) (string, string, string) {
		p.by("alice", "POST", "/v1/agents/register", `{"agent_id":"alice"}`)
		return "PATCH", "/v1/agents/alice/status", `{"status":"draining"}`
	},
	"AgentService/DeregisterAgent": func(p *place) (string, string, string) {
		p.by("alice", "POST", "/v1/agents/register", `{"agent_id":"alice"}`)
		return "DELETE", "/v1/agents/alice", ""
	},
	"TaskService/CreateTask": func(p *place) (string, string, string) {
		return "POST", p.onIntent("/tasks"), `{"name":"a task"}`
	},
	"TaskService/UpdateTask": func(p *place) (string, string, string) {
		return "PATCH", p.task("/claim"), `{"status":"running","expected_version":2}`
	},
	"TaskService/ClaimTask": func(p *place) (string, string, string) { return "POST", p.task() + "/claim", `{}` },
	"TaskService/CompleteTask": func(p *place) (string, string, string) {
		return "POST", p.task("/claim") + "/complete", `{}`
	},
	"TaskService/FailTask": func(p *place) (string, string, string) {
		path := p.task("/claim")
		p.by("alice", "PATCH", path, `{"status":"running","expected_version":2}`)
		return "POST", path + "/fail", `{"error":"broken"}`
	},
	"LeaseService/AcquireLease": func(p *place) (string, string, string) {
		return "POST", p.onIntent("/leases"), `{"scope":"a","duration_seconds":60}`
	},
	"LeaseService/ReleaseLease": func(p *place) (string, string, string) {
		return "DELETE", p.onIntent("/leases/" + p.made("alice", p.onIntent("/leases"), `{"scope":"a","duration_seconds":60}`)), ""
	},
	"ChannelService/CreateChannel": func(p *place) (string, string, string) {
		return "POST", p.onIntent("/channels"), `{"name":"another"}`
	},
	"ChannelService/UpdateChannel": func(p *place) (string, string, string) {
		return "PATCH", p.onChannel(""), `{"options":{"max_messages":7}}`
	},
	"ChannelService/AddChannelMembers": func(p *place) (string, string, string) {
		return "POST", p.onChannel("/members"), `{"members":["carol"]}`
	},
	"ChannelService/RemoveChannelMember": func(p *place) (string, string, string) {
		return "DELETE", p.onChannel("/members/bob"), ""
	},
	"MessageService/LiftBrake":     func(p *place) (string, string, string) { return "POST", p.onChannel("/brake/lift"), `{}` },
	"ChannelService/DeleteChannel": func(p *place) (string, string, string) { return "DELETE", p.onChannel(""), "" },
	"MessageService/SendMessage": func(p *place) (string, string, string) {
		return "POST", p.onChannel("/messages"), plain
	},
	"MessageService/SendMessageByName": func(p *place) (string, string, string) {
		return "POST", p.onIntent("/channels/elsewhere/messages"), plain
	},
	"MessageService/ReplyMessage": func(p *place) (string, string, string) {
		return "POST", p.message(request) + "/reply", `{"payload":{"text":"an answer"}}`
	},
	"MessageService/UpdateMessage": func(p *place) (string, string, string) {
		return "PATCH", p.onChannel("/messages/" + p.made("alice", p.onChannel("/messages"), plain)), `{"payload":{"text":"edited"}}`
	},
	"MessageService/DeleteMessage": func(p *place) (string, string, string) {
		return "DELETE", p.onChannel("/messages/" + p.made("alice", p.onChannel("/messages"), plain)), ""
	},
	"MessageService/Ask": func(p *place) (string, string, string) {
		return "POST", p.onChannel("/ask"), `{"to":"bob","payload":{"text":"nobody answers"},"timeout":0.01}`
	},
	"MessageService/AskAll": func(p *place) (string, string, string) {
		return "POST", p.onChannel("/ask_all"), `{"to":"bob","payload":{"text":"nobody answers"},"timeout":0.01}`
	},
	"MessageService/MarkInboxRead": func(p *place) (string, string, string) {
		return "POST", "/v1/agents/alice/inbox/read", `{"message_ids":["` + p.made("bob", p.onChannel("/messages"), plain) + `"]}`
	},
	"AttentionService/SetDisposition": func(p *place) (string, string, string) {
		return "POST", p.message(request) + "/disposition", `{"disposition":"deferred","until":"2099-01-01T00:00:00Z"}`
	},
	"AttentionService/MarkSurfaced": func(p *place) (string, string, string) {
		return "POST", "/v1/agents/alice/inbox/surfaced", `{"message_ids":["` + p.made("bob", p.onChannel("/messages"), plain) + `"]}`
	},
	"AttentionService/HandOver": func(p *place) (string, string, string) {
		return "POST", "/v1/agents/alice/inbox/handed", `{"message_ids":["` + p.made("bob", p.onChannel("/messages"), plain) + `"]}`
	},
	"ClaimService/ClaimMessage": func(p *place) (string, string, string) { return "POST", p.message(request) + "/claim", `{}` },
	"ClaimService/ReleaseClaim": func(p *place) (string, string, string) {
		path := p.message(request) + "/claim"
		var claim struct{ Fence json.Number }
		p.by("alice", "POST", path, `{}`).Decode(p.t, &claim)
		return "DELETE", path + "?fence=" + claim.Fence.String(), ""
	},
	"ReactionService/AddReaction": func(p *place) (string, string, string) { return "PUT", p.message(plain) + "/reactions/agree", `{}` },
	"ReactionService/RemoveReaction": func(p *place) (string, string, string) {
		path := p.message(plain) + "/reactions/agree"
		p.by("alice", "PUT", path, `{}`)
		return "DELETE", path, ""
	},
	"ObligationService/DischargeObligation": func(p *place) (string, string, string) {
		return "POST", p.onChannel("/messages/"+p.made("alice", p.onChannel("/messages"), obliges)) + "/discharge", `{"note":"done"}`
	},
	"SubscriptionService/CreateSubscription": func(p *place) (string, string, string) {
		return "POST", "/v1/subscriptions", `{"intent_id":"` + p.intent + `"}`
	},
	"KeyService/CreateKey": func(*place) (string, string, string) {
		return "POST", "/v1/keys", `{"label":"another","agents":["carol"]}`
	},
	"KeyService/RotateKey": func(p *place) (string, string, string) {
		var issued struct{ Key struct{ ID string } }
		p.by("", "POST", "/v1/keys", `{"label":"another","agents":["carol"]}`).Decode(p.t, &issued)
		return "POST", "/v1/keys/" + issued.Key.ID + "/rotate", `{}`
	},
	"InviteService/CreateInvite": func(p *place) (string, string, string) { return "POST", p.onChannel("/invites"), `{"label":"guests"}` },
	"InviteService/UpdateInvite": func(p *place) (string, string, string) {
		var made struct{ Invite struct{ ID string } }
		p.by("alice", "POST", p.onChannel("/invites"), `{"label":"guests"}`).Decode(p.t, &made)
		return "PATCH", p.onChannel("/invites/" + made.Invite.ID), "{}"
	},
	"SubscriptionService/UpdateSubscription": func(p *place) (string, string, string) {
		id := p.made("alice", "/v1/subscriptions", `{"intent_id":"`+p.intent+`","name":"posted","webhook_url":"https://hooks.example.org/a"}`)
		return "PATCH", "/v1/subscriptions/" + id, `{"webhook_url":"https://hooks.example.org/b"}`
	},
	"ContactService/SetContacts": func(p *place) (string, string, string) {
		return "PUT", "/v1/agents/alice/contacts", p.contacts()
	},
	"ContactService/SendContactCode": func(p *place) (string, string, string) {
		return "POST", p.contact() + "/code", "{}"
	},
	"AgentService/RefuseSender": func(p *place) (string, string, string) {
		p.by("alice", "POST", "/v1/agents/register", `{"agent_id":"alice"}`)
		return "PUT", "/v1/agents/alice/refused/" + p.channel, ""
	},
}

// streamed is the one method that is charged and is a stream; REST has no such call.
const streamed = "MessageService/SendMessages"

// Every method that stores something of its caller's is charged for it: under a key that may store a byte in a second, the next call is
// refused, and that one has stored nothing. A method that is new stands in this table, or says in its policy why it is free.
func TestEveryMethodThatStoresIsCharged(t *testing.T) {
	methods := []string{streamed}
	for name := range charges {
		methods = append(methods, name)
	}
	require.ElementsMatch(t, server.ChargedMethods(), methods)
	slices.Sort(methods)
	keys := []string{"free;roles=*"}
	for i := range methods {
		keys = append(keys, fmt.Sprintf("poor-%d;roles=*;stored_bytes_per_second=1", i))
	}
	databasetest.EachURL(t, func(t *testing.T, url string) {
		h := harness.Start(t, harness.Options{URL: url, APIKeys: strings.Join(keys, ",")})
		for i, name := range methods {
			t.Run(name, func(t *testing.T) { requireCharged(t, h, name, fmt.Sprintf("poor-%d", i)) })
		}
		listed := h.With("free", "").REST(t, "GET", "/v1/intents?limit=1000", "")
		require.NotContains(t, string(listed.Body), "Too much")
	})
}

// requireCharged calls a method under a key that is used for nothing else, and then finds that the key has to wait.
func requireCharged(t *testing.T, h *harness.Server, name, key string) {
	p, agent := newPlace(t, h), "alice"
	if strings.HasPrefix(name, "KeyService/") {
		agent = ""
	}
	poor := h.With(key, agent)
	if name == streamed {
		stream, err := poor.Messages.SendMessages(t.Context())
		require.NoError(t, err)
		require.NoError(t, stream.Send(&openintentv1.SendMessageRequest{
			ChannelId: p.channel, Payload: &structpb.Struct{}, IdempotencyKey: proto.String("a key that is stored with it"),
		}))
		_, err = stream.Recv()
		require.NoError(t, err)
		require.NoError(t, stream.CloseSend())
	} else {
		method, path, body := charges[name](p)
		answer := poor.REST(t, method, path, body)
		late := answer.Status == 408 || answer.Status == 504 // nobody answers an ask
		require.True(t, answer.Status < 300 || late, "%d %s", answer.Status, answer.Body)
	}
	refused := poor.REST(t, "POST", "/v1/intents", `{"title":"Too much"}`)
	require.Equal(t, 429, refused.Status, "it stores something and is not charged: %s", refused.Body)
	require.NotEmpty(t, refused.Header.Get("Retry-After"))
	var problem struct {
		Reason string
		Rate   string `json:"stored_bytes_per_second"`
	}
	refused.Decode(t, &problem)
	require.Equal(t, "QUOTA_EXCEEDED", problem.Reason)
	require.Equal(t, "1", problem.Rate)
}

// What a key reads, and what it repeats under an idempotency key, costs it nothing.
func TestReadsAndRepeatsAreNotCharged(t *testing.T) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		h := harness.Start(t, harness.Options{URL: url, APIKeys: "free;roles=*,poor;roles=*;rows_per_second=1000;stored_bytes_per_second=500"})
		p := newPlace(t, h)
		poor := h.With("poor", "alice")
		send := func() harness.Answer {
			return poor.REST(t, "POST", p.onChannel("/messages"), `{"payload":{"text":"`+strings.Repeat("x", 100)+`"}}`, "Idempotency-Key", "once")
		}
		first := send()
		require.Equal(t, 201, first.Status, "%s", first.Body)
		for range 100 { // each would be 200 bytes
			again := send()
			require.Less(t, again.Status, 300, "%s", again.Body)
			require.Equal(t, 200, poor.REST(t, "GET", p.onChannel("/messages"), "").Status)
		}
	})
}
