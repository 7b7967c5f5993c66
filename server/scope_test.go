package server

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// What a method works on must lie in the scope, and a request that names nothing lies in none.
func TestAScopeIsForWhatARequestNames(t *testing.T) {
	methods, err := listMethods()
	require.NoError(t, err)
	within := &caller.Scope{Intents: []string{"in"}, Channels: []string{"chan_in"}}
	for _, c := range []struct {
		method  string
		request proto.Message
		refused bool
	}{
		{openintentv1.IntentService_GetIntent_FullMethodName, &openintentv1.GetIntentRequest{IntentId: "in"}, false},
		{openintentv1.IntentService_GetIntent_FullMethodName, &openintentv1.GetIntentRequest{IntentId: "out"}, true},
		{openintentv1.IntentService_GetIntent_FullMethodName, &openintentv1.GetIntentRequest{}, true},
		{openintentv1.MessageService_GetMessage_FullMethodName, &openintentv1.GetMessageRequest{ChannelId: "chan_in"}, false},
		{openintentv1.MessageService_GetMessage_FullMethodName, &openintentv1.GetMessageRequest{ChannelId: "chan_out"}, true},
		{openintentv1.MessageService_Subscribe_FullMethodName, &openintentv1.SubscribeRequest{}, false},
		{openintentv1.IntentService_ListIntents_FullMethodName, &openintentv1.ListIntentsRequest{}, false},
		{openintentv1.IntentService_CreateIntent_FullMethodName, &openintentv1.CreateIntentRequest{}, true},
	} {
		err := scopes{}.check(t.Context(), within, methods[c.method], c.request)
		if c.refused {
			require.ErrorIs(t, err, errOutOfScope, c.method)
		} else {
			require.NoError(t, err, c.method)
		}
	}
}

// A channel lies where it lies for ever, but one that is not there yet may be made.
func TestAScopeRemembersOnlyChannelsThatAreThere(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		known, made := newScopes(db), ""
		looks := 0
		channel := namedPlace{isChannel: true, intentOf: func(*database.Tx, string) (string, error) {
			looks++
			return made, nil
		}}
		within := &caller.Scope{Intents: []string{"in"}}
		for _, step := range []struct {
			made    string
			covered bool
			looks   int
		}{{"", false, 1}, {"in", true, 2}, {"in", true, 2}} {
			made = step.made
			covered, err := known.covers(t.Context(), within, channel, "chan_1")
			require.NoError(t, err)
			require.Equal(t, step.covered, covered)
			require.Equal(t, step.looks, looks)
		}
	})
}
