package strangers

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/server/jsonform"
)

// TestNobodyTakesWhatIsNotTheirs makes every attack of docs/rights.md over both faces, with a bound key whose agent
// has no relation to anything. Each attack must be refused for the documented reason. Afterwards every caller must
// see what it saw before.
func TestNobodyTakesWhatIsNotTheirs(t *testing.T) {
	rows := rightsTable(t, "## What is refused without a relation")
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		w.makeRights(t)
		before := w.sights(t)
		for _, row := range rows {
			call, reason := row[0], row[2]
			for what := range strings.SplitSeq(row[3], "; ") {
				t.Run(what, func(t *testing.T) {
					text := w.fill(rightsAttacks[what])
					require.Equal(t, reason, harness.Reason(w.attackGRPC(t, call, text)), "over gRPC")
					w.attackREST(t, call, text, reason)
				})
			}
		}
		after := w.sights(t)
		for _, who := range slices.Sorted(maps.Keys(before)) {
			require.Equal(t, before[who], after[who], "%s sees something else than before", who)
		}
		w.goesOn(t)
	})
}

// The tables name every call of the server, and every attack belongs to a row.
func TestTheTablesOfRightsNameEveryCall(t *testing.T) {
	var named, attacks []string
	for _, row := range rightsTable(t, "## What is refused without a relation") {
		require.NotEmpty(t, row[1], row[0])
		named, attacks = append(named, row[0]), append(attacks, strings.Split(row[3], "; ")...)
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(rightsAttacks)), attacks)
	for _, row := range rightsTable(t, "## What needs no relation") {
		require.NotEmpty(t, row[1], row[0])
		named = append(named, row[0])
	}
	var calls []string
	protoregistry.GlobalFiles.RangeFilesByPackage("openintent.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				calls = append(calls, fmt.Sprint(service.Name(), "/", service.Methods().Get(j).Name()))
			}
		}
		return true
	})
	slices.Sort(named)
	require.ElementsMatch(t, calls, slices.Compact(named))
}

// rightsTable returns the rows of the table after a heading of docs/rights.md, without its head.
func rightsTable(t *testing.T, heading string) (rows [][]string) {
	t.Helper()
	document, err := os.ReadFile("../../docs/rights.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(document), "\n"+heading+"\n")
	require.True(t, found, heading)
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.SplitSeq(section, "\n") {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		var cells []string
		for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
			cells = append(cells, strings.Trim(cell, " `"))
		}
		rows = append(rows, cells)
	}
	require.Greater(t, len(rows), 2, heading)
	return rows[2:]
}

// makeRights creates the targets of the attacks. The stranger has a channel of its own.
func (w *world) makeRights(t *testing.T) {
	w.places["mallory"] = harness.BoundAgent
	answer := w.do(t, "alice", "POST", "/v1/intents/{other_intent}/agents", `{"agent_id":"carol"}`)
	require.Equal(t, 201, answer.Status, "%s", answer.Body)
	w.make(t, "free_task", "id", "alice", "/v1/intents/{intent}/tasks", `{"name":"free"}`)
	w.make(t, "waiting_task", "id", "alice", "/v1/intents/{intent}/tasks", `{"name":"waiting","depends_on":["{free_task}"]}`)
	w.make(t, "kept_task", "id", "alice", "/v1/intents/{intent}/tasks", `{"name":"kept","assigned_agent":"bob"}`)
	w.make(t, "claimed_task", "id", "alice", "/v1/intents/{intent}/tasks", `{"name":"claimed"}`)
	require.Equal(t, 200, w.do(t, "bob", "POST", "/v1/tasks/{claimed_task}/claim", `{}`).Status)
	w.make(t, "lease", "id", "bob", "/v1/intents/{intent}/leases", `{"scope":"parser","duration_seconds":86400}`)
	w.make(t, "claimed_request", "id", "alice", "/v1/channels/{room}/messages",
		`{"to":"bob","message_type":"request","payload":{"secret":"`+secret+`"}}`)
	for place, name := range map[string]string{"claimed_request": "request_fence", "broadcast": "broadcast_fence"} {
		claimed := w.do(t, "bob", "POST", "/v1/channels/{room}/messages/{"+place+"}/claim", `{"ttl_seconds":3600}`)
		require.Equal(t, 200, claimed.Status, "%s", claimed.Body)
		var claim struct{ Fence int64 }
		claimed.Decode(t, &claim)
		w.places[name] = strconv.FormatInt(claim.Fence, 10)
	}
	w.make(t, "obligation", "id", "alice", "/v1/channels/{room}/messages",
		`{"to":"bob","message_type":"request","obligation":{"blocks":"halted","delegate":"carol"},"payload":{"secret":"`+secret+`"}}`)
	w.make(t, "windows", "id", "bob", "/v1/subscriptions", `{"intent_id":"{intent}","compose":true,"digest_seconds":60}`)
	reacted := w.do(t, "bob", "PUT", "/v1/channels/{room}/messages/{notify}/reactions/agree", `{"note":"`+secret+`"}`)
	require.Equal(t, 200, reacted.Status, "%s", reacted.Body)
	w.make(t, "hidden_message", "id", "alice", "/v1/channels/{hidden_room}/messages", `{"payload":{"secret":"`+secret+`"}}`)
	w.make(t, "hidden_task", "id", "alice", "/v1/intents/{hidden_intent}/tasks", `{"name":"hidden"}`)
	w.make(t, "hidden_coordinator", "id", "alice", "/v1/intents/{hidden_intent}/coordinator", `{"agent_id":"bob"}`)
	w.make(t, "hidden_event", "id", "alice", "/v1/intents/{hidden_intent}/events", `{"event_type":"comment"}`)
	own := w.With(harness.BoundKey, "").REST(t, "POST", w.fill("/v1/intents/{intent}/channels"), `{"name":"mallory's own"}`)
	require.Equal(t, 201, own.Status, "%s", own.Body)
	var channel struct{ ID string }
	own.Decode(t, &channel)
	w.places["own_room"] = channel.ID
	issued := w.Operator().REST(t, "POST", "/v1/keys", `{"label":"`+secret+`","agents":["alice"]}`)
	require.Equal(t, 201, issued.Status, "%s", issued.Body)
	require.Equal(t, "no-store", issued.Header.Get("Cache-Control"))
	var made struct{ Key struct{ ID string } }
	issued.Decode(t, &made)
	w.places["key"] = made.Key.ID
	w.places["invite"] = w.invites(t, "members_room", `{"label":"`+secret+`"}`).Invite.ID
	require.Equal(t, 200, w.do(t, "erin", "GET", "/v1/whoami", "").Status) // was here, and has no record
}

// sights returns what each caller of the server may see of everything in it.
func (w *world) sights(t *testing.T) map[string]string {
	t.Helper()
	sights := map[string]string{"everything": w.ledger(t)}
	for _, agent := range []string{"alice", "bob", "carol"} {
		var seen strings.Builder
		look := func(path string) {
			answer := w.do(t, agent, "GET", path, "")
			fmt.Fprintln(&seen, path, answer.Status, string(answer.Body))
		}
		for _, place := range slices.Sorted(maps.Keys(w.places)) {
			switch {
			case strings.HasSuffix(place, "intent"):
				for _, part := range []string{"", "/acl", "/agents", "/coordinators", "/tasks", "/leases", "/channels", "/events?limit=1000"} {
					look("/v1/intents/{" + place + "}" + part)
				}
			case strings.HasSuffix(place, "room"):
				look("/v1/channels/{" + place + "}")
				look("/v1/channels/{" + place + "}/messages")
			}
		}
		look("/v1/agents/" + agent + "/inbox")
		look("/v1/subscriptions")
		sights[agent] = seen.String()
	}
	return sights
}

// attackGRPC makes a call with a request in REST's form, and returns how the call was refused.
func (w *world) attackGRPC(t *testing.T, call, text string) error {
	t.Helper()
	method := methodOf(t, call)
	request := messageOf(t, method.Input())
	require.Empty(t, jsonform.Decode([]byte(text), request, jsonform.Options{}), text)
	if update, ok := request.(*openintentv1.UpdateChannelRequest); ok {
		update.UpdateMask = maskOf(t, text)
	}
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, "x-api-key", harness.BoundKey)
	path, reply := "/openintent.v1."+call, messageOf(t, method.Output())
	if !method.IsStreamingServer() {
		return w.Connection.Invoke(ctx, path, request, reply)
	}
	description := &grpc.StreamDesc{ServerStreams: true, ClientStreams: method.IsStreamingClient()}
	stream, err := w.Connection.NewStream(ctx, description, path)
	require.NoError(t, err)
	require.NoError(t, stream.SendMsg(request))
	require.NoError(t, stream.CloseSend())
	err = stream.RecvMsg(reply)
	if answer, ok := reply.(*openintentv1.SendMessagesResponse); ok && err == nil {
		err = status.FromProto(answer.GetRefusal()).Err()
	}
	return err
}

// maskOf returns a mask of the fields that a request changes in a channel: all except its id.
func maskOf(t *testing.T, text string) *fieldmaskpb.FieldMask {
	t.Helper()
	var request struct{ Channel map[string]any }
	require.NoError(t, json.Unmarshal([]byte(text), &request))
	mask := &fieldmaskpb.FieldMask{}
	for name, value := range request.Channel {
		options, _ := value.(map[string]any)
		for option := range options {
			mask.Paths = append(mask.Paths, name+"."+option)
		}
		if options == nil && name != "id" {
			mask.Paths = append(mask.Paths, name)
		}
	}
	return mask
}

// attackREST makes the same call over REST, if the call has a REST form, on the contract's route.
func (w *world) attackREST(t *testing.T, call, text, reason string) {
	t.Helper()
	method := methodOf(t, call)
	verb, pattern, body := routeOf(method)
	if pattern == "" || method.IsStreamingServer() {
		return
	}
	var fields map[string]any
	numbers := json.NewDecoder(strings.NewReader(text))
	numbers.UseNumber() // a fence has more digits than a float prints
	require.NoError(t, numbers.Decode(&fields))
	version := fields["expected_version"]
	path := take(fields, pattern)
	if body != "*" && body != "" {
		fields = fields[body].(map[string]any)
	}
	sent := ""
	if body == "" {
		query := make(url.Values)
		for name, value := range fields {
			query.Set(name, fmt.Sprint(value))
		}
		path += "?" + query.Encode()
	} else {
		encoded, err := json.Marshal(fields)
		require.NoError(t, err)
		sent = string(encoded)
	}
	var headers []string
	if version != nil {
		headers = []string{"If-Match", fmt.Sprint(version)}
	}
	answer := w.With(harness.BoundKey, "").REST(t, verb, path, sent, headers...)
	var problem struct{ Reason string }
	answer.Decode(t, &problem)
	require.Equal(t, reason, problem.Reason, "%s %s %s: %d %s", verb, path, sent, answer.Status, answer.Body)
}

// routeOf returns the first route of a method, and the request field that is its body.
func routeOf(method protoreflect.MethodDescriptor) (verb, pattern, body string) {
	rule, _ := proto.GetExtension(method.Options(), annotations.E_Http).(*annotations.HttpRule)
	for verb, pattern := range map[string]string{
		"GET": rule.GetGet(), "POST": rule.GetPost(), "PUT": rule.GetPut(), "PATCH": rule.GetPatch(), "DELETE": rule.GetDelete(),
	} {
		if pattern != "" {
			return verb, pattern, rule.GetBody()
		}
	}
	return "", "", ""
}

// take fills a pattern's placeholders, and removes the fields that it used.
func take(fields map[string]any, pattern string) string {
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		if !strings.HasPrefix(part, "{") {
			continue
		}
		within, name := fields, strings.Trim(part, "{}")
		if outer, inner, nested := strings.Cut(name, "."); nested {
			within, name = fields[outer].(map[string]any), inner
		}
		parts[i] = url.PathEscape(fmt.Sprint(within[name]))
		delete(within, name)
	}
	return strings.Join(parts, "/")
}

func methodOf(t *testing.T, call string) protoreflect.MethodDescriptor {
	t.Helper()
	name := protoreflect.FullName("openintent.v1." + strings.ReplaceAll(call, "/", "."))
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	require.NoError(t, err)
	return found.(protoreflect.MethodDescriptor)
}

func messageOf(t *testing.T, described protoreflect.MessageDescriptor) proto.Message {
	t.Helper()
	found, err := protoregistry.GlobalTypes.FindMessageByName(described.FullName())
	require.NoError(t, err)
	return found.New().Interface()
}
