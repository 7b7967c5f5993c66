package server

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/fault"
)

// patient returns a request of a method that says how long it may wait.
func patient(called *method, seconds int) proto.Message {
	request := dynamicpb.NewMessage(called.input)
	value := protoreflect.ValueOfInt32(int32(seconds)) //nolint:gosec // tests wait for a few seconds at most
	if called.patience.Kind() == protoreflect.DoubleKind {
		value = protoreflect.ValueOfFloat64(float64(seconds))
	}
	request.Set(called.patience, value)
	return request
}

// A call takes a place among those that wait if its request says that it waits, and if no request can say so.
func TestWhichCallsWait(t *testing.T) {
	methods, err := listMethods()
	require.NoError(t, err)
	may := 0
	for _, called := range methods {
		switch {
		case !called.waits || !called.validated:
			continue
		case called.patience == nil:
			require.True(t, called.asksToWait(dynamicpb.NewMessage(called.input)), called.name)
			continue
		}
		may++
		require.False(t, called.asksToWait(dynamicpb.NewMessage(called.input)), called.name)
		require.False(t, called.asksToWait(patient(called, 0)), called.name)
		require.True(t, called.asksToWait(patient(called, 1)), called.name)
	}
	require.GreaterOrEqual(t, may, 3)
}

// What a door's request waits for is one wait, although the door makes a call that waits.
func TestAWaitOfADoorIsCountedOnce(t *testing.T) {
	f := newFace(t, slog.LevelInfo)
	who := caller.Caller{KeyID: "k", Agent: "a"}
	waits := f.through.limits.waits
	ctx, end, err := doorWaits{waits: waits, who: who}.Begin(t.Context())
	require.NoError(t, err)
	asking := &call{method: f.through.methods[openintentv1.MessageService_Ask_FullMethodName]}
	require.NoError(t, f.through.beginWait(caller.NewContext(ctx, who), asking, &openintentv1.AskRequest{}))
	require.Nil(t, asking.endWait)
	require.Equal(t, map[string]int{"k": 1}, waits.ofKeys)
	end()
	require.Empty(t, waits.ofKeys)
}

func TestACallThatFailsWaitsNoLonger(t *testing.T) {
	f := newFace(t, slog.LevelInfo)
	f.service.ask = func(context.Context, *openintentv1.AskRequest) (*openintentv1.Message, error) {
		return nil, fault.New(fault.TimedOut, "MESSAGE_TIMEOUT", "Nobody answered.")
	}
	for range maxTestStreams + 1 {
		_, err := f.messages.Ask(as(t, "x-api-key", "open"), &openintentv1.AskRequest{To: "b", Payload: &structpb.Struct{}})
		require.Equal(t, "MESSAGE_TIMEOUT", reasonOfError(t, err))
	}
	require.Empty(t, f.through.limits.waits.ofKeys)
}
