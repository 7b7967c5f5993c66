package doors

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
)

func TestAnIndexIsIncompleteIfOlderMessagesAreMissing(t *testing.T) {
	now := timestamppb.Now()
	require.False(t, IndexIncomplete(&openintentv1.SearchMessagesResponse{CompleteThrough: now, MessagesLeft: 1}), "only the last moment is missing")
	for _, page := range []*openintentv1.SearchMessagesResponse{
		{}, {CompleteThrough: now, CompleteFrom: now}, {CompleteThrough: now, IntentsNotIndexed: 1},
	} {
		require.True(t, IndexIncomplete(page))
	}
}
