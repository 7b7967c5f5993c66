package doors

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
)

func TestAPageMayBeCutByItsNumberOrItsSize(t *testing.T) {
	short := &openintentv1.Message{Id: "msg_1"}
	payload, err := structpb.NewStruct(map[string]any{"text": strings.Repeat("x", 250_000)})
	require.NoError(t, err)
	long := &openintentv1.Message{Id: "msg_2", Payload: payload}
	require.True(t, MayBeCut([]*openintentv1.Message{short, short}, 2))
	require.False(t, MayBeCut([]*openintentv1.Message{short, short}, 3))
	require.False(t, MayBeCut([]*openintentv1.Message{long, long}, 50))
	require.True(t, MayBeCut([]*openintentv1.Message{long, long, long, long, long, long, long, long, long}, 50))
}
