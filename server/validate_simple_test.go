package server

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
)

// The rules that the server checks by itself give the same verdicts as the validator.
func TestSimpleRulesAreTheContracts(t *testing.T) {
	methods, err := listMethods()
	require.NoError(t, err)
	v, err := newValidator(methods)
	require.NoError(t, err)
	all := slices.Repeat([]int64{7}, 1000)
	for _, numbers := range [][]int64{nil, {1}, {0}, {1, 2, 0}, {-1}, all, append(slices.Clone(all), 7)} {
		request := &openintentv1.StreamAcknowledgementsRequest{SubscriptionId: "sub", Numbers: numbers}
		require.Contains(t, v.simple, request.ProtoReflect().Descriptor().FullName(), "its rules are simple")
		require.Equal(t, v.rules.Validate(request) == nil, v.keepsSimple(request.ProtoReflect()))
	}
	for _, other := range []proto.Message{
		&openintentv1.SendMessageRequest{}, &openintentv1.AcknowledgeDeliveriesRequest{}, &openintentv1.AddChannelMembersRequest{},
		&openintentv1.UpdateChannelRequest{}, &openintentv1.SubscribeRequest{},
	} {
		require.NotContains(t, v.simple, other.ProtoReflect().Descriptor().FullName(), "it has other rules")
	}
}
