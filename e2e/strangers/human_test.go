package strangers

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database/databasetest"
	"openintent/internal/oidc/oidctest"
	"openintent/server"
)

// saysAs sends a message as the bearer of a secret, with further headers, and returns what kind of sender the server takes it for.
func (w *world) saysAs(t *testing.T, secret string, headers ...string) string {
	t.Helper()
	answer := w.With(secret, "").REST(t, "POST", w.fill("/v1/channels/{room}/messages"), `{"payload":{"text":"hello"}}`, headers...)
	require.Equal(t, 201, answer.Status, "%s", answer.Body)
	var sent struct {
		ID   string `json:"id"`
		Kind string `json:"sender_kind"`
	}
	require.NoError(t, json.Unmarshal(answer.Body, &sent))
	stored, err := w.Operator().Messages.GetMessage(t.Context(), &openintentv1.GetMessageRequest{ChannelId: w.places["room"], MessageId: sent.ID})
	require.NoError(t, err)
	require.Equal(t, sent.Kind, stored.GetSenderKind())

	ctx := metadata.AppendToOutgoingContext(t.Context(), headers...)
	overGRPC, err := w.With(secret, "").Messages.SendMessage(ctx, &openintentv1.SendMessageRequest{
		ChannelId: w.places["room"], Payload: stored.GetPayload(),
	})
	require.NoError(t, err)
	require.Equal(t, sent.Kind, overGRPC.GetSenderKind(), "both faces")
	return sent.Kind
}

// A person's key speaks for the person only where the person itself calls.
func TestOnlyAPersonsOwnCallsAreAPersons(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		person := w.issue(t, `{"label":"bob","agents":["bob"],"human":true}`).Secret
		require.Equal(t, "human", w.saysAs(t, person))
		require.Empty(t, w.saysAs(t, person, "x-openintent-wake", "1"))
		require.Empty(t, w.saysAs(t, person, "x-openintent-wake", ""), "whatever it is set to")
		require.Empty(t, w.saysAs(t, person, "x-openintent-door", "stdio"))
		require.Empty(t, w.saysAs(t, w.issue(t, `{"label":"bob","agents":["bob"]}`).Secret))

		stream, err := w.With(person, "").Messages.SendMessages(t.Context())
		require.NoError(t, err)
		require.NoError(t, stream.Send(&openintentv1.SendMessageRequest{ChannelId: w.places["room"], Payload: &structpb.Struct{}}))
		answer, err := stream.Recv()
		require.NoError(t, err)
		stored, err := w.Operator().Messages.GetMessage(t.Context(), &openintentv1.GetMessageRequest{
			ChannelId: w.places["room"], MessageId: answer.GetAcknowledgement().GetMessageId(),
		})
		require.NoError(t, err)
		require.Equal(t, "human", stored.GetSenderKind())
		require.NoError(t, stream.CloseSend())
	})
}

// Nobody is a person because it says so.
func TestNobodyClaimsToBeAPerson(t *testing.T) {
	databasetest.OneEngineOf(t)
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		agent := w.issue(t, `{"label":"bob","agents":["bob"]}`).Secret
		for _, secret := range []string{agent, harness.Key} {
			w.With(secret, "bob").REST(t, "POST", w.fill("/v1/channels/{room}/messages"), `{"payload":{},"sender_kind":"human"}`)
			w.With(secret, "bob").REST(t, "POST", w.fill("/v1/channels/{room}/messages"), `{"payload":{},"metadata":{"sender_kind":"human"}}`)
		}
		page, err := w.Operator().Messages.ListMessages(t.Context(), &openintentv1.ListMessagesRequest{ChannelId: w.places["room"]})
		require.NoError(t, err)
		require.NotEmpty(t, page.GetMessages())
		for _, m := range page.GetMessages() {
			require.Nil(t, m.SenderKind, m)
		}
	})
}

// What comes through a door is a model's, although the key is a person's.
func TestDoorsCarryNoPersons(t *testing.T) {
	databasetest.OneEngineOf(t)
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		person := w.issue(t, `{"label":"bob","agents":["bob"],"human":true}`).Secret
		w.make(t, "dictated", "address", "bob", "/v1/intents/{intent}/channels",
			`{"name":"dictated","member_policy":"explicit","members":["bob"],"dictatable":true}`)
		for path, body := range map[string]string{
			"/mcp": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` +
				`{"name":"send","arguments":{"channel":"{room}","text":"through a door"}}}`,
			"/agent-channel/{dictated}/event": `{"kind":"comms","payload":{"text":"through a door"}}`,
			"/v1/repomesh/events":             `{"type":"agent.chat","payload":{"to":"all","content":"through a door"}}`,
		} {
			answer := w.atTheDoor(t, doorRequest{key: person, path: w.fill(path), body: w.fill(body)})
			id := regexp.MustCompile("msg_[0-9A-Z]{26}").FindString(string(answer.Body))
			require.NotEmpty(t, id, "%s: %s", path, answer.Body)
			stored, err := w.Operator().Messages.GetMessage(t.Context(), &openintentv1.GetMessageRequest{ChannelId: "-", MessageId: id})
			require.NoError(t, err)
			require.Equal(t, "bob", stored.GetSender())
			require.Nil(t, stored.SenderKind, path)
		}
	})
}

// A token is a person's if the claim that the settings name is true, and nothing else.
func TestAClaimSaysThatATokenIsAPersons(t *testing.T) {
	issuer, clock := oidctest.Start(t), &ahead{}
	w := newWorld(t, harness.Start(t, harness.Options{Configure: trusting(issuer, clock, func(cfg *server.Config) {
		cfg.OIDCHumanClaim, cfg.OIDCAgentClaim = "account.human", "agents"
	})}))
	token := func(agents, human any) string {
		return issuer.Token(t, oidctest.Claims{"agents": agents, "account": oidctest.Claims{"human": human}})
	}
	isKnownAs(t, w.With(token("bob", true), ""), `{"agent_id":"bob","human":true}`)
	require.Equal(t, "human", w.saysAs(t, token("bob", true)))
	for _, value := range []any{false, nil, "true", 1, []any{true}} {
		isKnownAs(t, w.With(token("bob", value), ""), `{"agent_id":"bob"}`)
	}
	w.refusesToken(t, token([]string{"bob", "dora"}, true), unauthenticated("TOKEN_CLAIM_INVALID"))
}
