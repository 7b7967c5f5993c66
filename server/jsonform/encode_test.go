package jsonform_test

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/jsonvalue"
	"openintent/server/jsonform"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Each golden file holds one type's JSON: the empty message, then one with every field set.
func TestGoldenBodies(t *testing.T) {
	for _, messageType := range allTypes(t) {
		name := string(messageType.Descriptor().Name())
		t.Run(name, func(t *testing.T) {
			full := messageType.New()
			fill(full)
			var got []byte
			for _, message := range []proto.Message{messageType.New().Interface(), full.Interface()} {
				text, err := jsonform.Encode(message)
				require.NoError(t, err)
				require.NoError(t, jsonvalue.Check(text, ""), "Decode must be able to read what Encode writes")
				got = append(append(got, text...), '\n')
			}
			path := filepath.Join("testdata", name+".json")
			if *update {
				require.NoError(t, os.WriteFile(path, got, 0o644))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, string(want), string(got))
		})
	}
}

func TestMessageLooksAsTheRFCPrintsIt(t *testing.T) {
	text, err := jsonform.Encode(&openintentv1.Message{
		Id: "msg_01HXYZ", ChannelId: "chan_01HXYZ", Sender: "research-agent-01", To: proto.String("data-agent-01"),
		MessageType: openintentv1.MessageType_MESSAGE_TYPE_REQUEST,
		Payload:     object(map[string]any{"question": "What schema version does the Q1 dataset use?"}),
		Metadata:    object(nil),
		Status:      openintentv1.MessageStatus_MESSAGE_STATUS_DELIVERED,
		CreatedAt:   timestamppb.New(time.Date(2026, 2, 13, 11, 0, 0, 0, time.FixedZone("", 3600))),
		ExpiresAt:   timestamppb.New(time.Date(2026, 2, 13, 10, 5, 0, 999, time.UTC)),
	})
	require.NoError(t, err)
	require.Equal(t, `{"id":"msg_01HXYZ","channel_id":"chan_01HXYZ","sender":"research-agent-01","to":"data-agent-01",`+
		`"message_type":"request","correlation_id":null,`+
		`"payload":{"question":"What schema version does the Q1 dataset use?"},"metadata":{},"status":"delivered",`+
		`"created_at":"2026-02-13T10:00:00.000000Z","expires_at":"2026-02-13T10:05:00.000000Z","read_at":null}`, string(text))
}

func TestDeliveryStatusesAreLowerCaseWords(t *testing.T) {
	var words []string
	values := openintentv1.DeliveryStatus_DELIVERY_STATUS_UNSPECIFIED.Descriptor().Values()
	for i := 1; i < values.Len(); i++ {
		words = append(words, jsonform.WordOf(values.Get(i)))
	}
	require.Equal(t, []string{"stored", "offered", "read", "answered", "expired", "dead_lettered", "surfaced"}, words)
}

func TestEventLeavesOutWhatItsHashMustNotCover(t *testing.T) {
	text, err := jsonform.Encode(&openintentv1.Event{Payload: object(nil)})
	require.NoError(t, err)
	require.Equal(t, `{"id":"","intent_id":"","event_type":"","actor":"","payload":{},"created_at":null,"sequence":0,`+
		`"previous_event_hash":null,"event_hash":""}`, string(text))

	text, err = jsonform.Encode(&openintentv1.Event{
		Payload: object(nil), TraceId: proto.String("t"), ParentEventId: proto.String("p"), Proof: object(nil),
	})
	require.NoError(t, err)
	require.Contains(t, string(text), `"event_hash":"","proof":{},"trace_id":"t","parent_event_id":"p"}`)
}

func TestNumbersAreShortest(t *testing.T) {
	for number, want := range map[float64]string{
		0: "0", math.Copysign(0, -1): "0", 1: "1", -1: "-1", 0.5: "0.5", 0.1: "0.1", 100: "100", 1e6: "1000000",
		1<<53 - 1: "9007199254740991", -(1<<53 - 1): "-9007199254740991", 1 << 53: "9.007199254740992e+15",
		1e16: "1e+16", 1e21: "1e+21", 1.5e300: "1.5e+300", 1e-6: "0.000001", 1e-7: "1e-7", 1.25e-10: "1.25e-10",
		5e-324: "5e-324", math.MaxFloat64: "1.7976931348623157e+308", 4503599627370495.5: "4503599627370495.5",
	} {
		text, err := jsonform.Encode(structpb.NewNumberValue(number))
		require.NoError(t, err)
		require.Equal(t, want, string(text))
		require.NoError(t, jsonvalue.Check(text, ""))
	}
}

func TestLists(t *testing.T) {
	text, err := jsonform.Encode([]*openintentv1.ChainBreak(nil))
	require.NoError(t, err)
	require.Equal(t, "[]", string(text))

	text, err = jsonform.Encode([]*openintentv1.ChainBreak{{Sequence: 1, Reason: "a"}, {Sequence: 2}})
	require.NoError(t, err)
	require.Equal(t, `[{"sequence":1,"reason":"a"},{"sequence":2,"reason":""}]`, string(text))
}

func TestEmptyHasNoBody(t *testing.T) {
	text, err := jsonform.Encode(&emptypb.Empty{})
	require.NoError(t, err)
	require.Empty(t, text)
}

func TestEncodeRefusesWhatNoJSONHolds(t *testing.T) {
	for name, value := range map[string]any{
		"NaN":          structpb.NewNumberValue(math.NaN()),
		"infinity":     &openintentv1.Intent{Confidence: math.Inf(1)},
		"not UTF-8":    &openintentv1.Intent{Title: "\xff"},
		"bad key":      &structpb.Struct{Fields: map[string]*structpb.Value{"\xff": structpb.NewNullValue()}},
		"no message":   7,
		"no messages":  []int{1},
		"text as list": []string{"a"},
	} {
		_, err := jsonform.Encode(value)
		require.Error(t, err, name)
	}
}

func TestStringsAreEscapedAsLittleAsPossible(t *testing.T) {
	all := make([]rune, 0, 0x300)
	for c := rune(0); c < 0x300; c++ {
		all = append(all, c)
	}
	text := jsonform.AppendString(nil, string(all)+"\u2028<>&😀")
	var back string
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, string(all)+"\u2028<>&😀", back)
	require.Contains(t, string(text), "\u2028<>&😀")
}

func BenchmarkEncodeMessage(b *testing.B) {
	message := &openintentv1.Message{}
	fill(message.ProtoReflect())
	message.Payload = object(map[string]any{"question": "What schema version does the Q1 dataset use?", "n": 3})
	message.Metadata = object(nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := jsonform.Encode(message); err != nil {
			b.Fatal(err)
		}
	}
}
