package writing

import (
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/channels"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/fault/faulttest"
	"openintent/messaging/message"
)

// saying drafts a message as a request would.
func saying(t *testing.T, text string, req *openintentv1.SendMessageRequest) *Draft {
	t.Helper()
	d := draftBy("alice")
	d.Key, d.Target = "k", "bob"
	require.NoError(t, d.SetContent(&structpb.Struct{Fields: map[string]*structpb.Value{"text": structpb.NewStringValue(text)}}, nil))
	require.NoError(t, d.SetConversation(req))
	require.NoError(t, d.Check(1<<20))
	require.NoError(t, d.Seal())
	return d
}

// Keys hold for a day, so a message that says nothing new must have the fingerprint that it had before an upgrade.
func TestAPlainMessageHasTheFingerprintThatItAlwaysHad(t *testing.T) {
	d := saying(t, "x", &openintentv1.SendMessageRequest{})
	require.Equal(t, "2f2d5168b7d44fd51e0b8a414114fe1d0c5441fe65243b42cd8a473a6fb90e0e", hex.EncodeToString(d.fingerprint[:]))
	require.Nil(t, d.given)
}

func TestWhatASenderGivesIsPartOfTheFingerprint(t *testing.T) {
	text, list := "x", &structpb.ListValue{}
	named := &structpb.ListValue{Values: []*structpb.Value{structpb.NewStringValue("carol")}}
	seen := make(map[string]string)
	for name, req := range map[string]*openintentv1.SendMessageRequest{
		"nothing": {}, "subject": {Subject: &text}, "kind": {Kind: &text}, "task": {TaskId: &text}, "parent": {ParentId: &text},
		"priority": {Priority: openintentv1.Priority_PRIORITY_NORMAL.Enum()}, "no mentions": {Mentions: list}, "mentions": {Mentions: named},
		"directedness": {Directedness: openintentv1.Directedness_DIRECTEDNESS_AMBIENT.Enum()},
		"policy":       {Policy: openintentv1.ResponsePolicy_RESPONSE_POLICY_ACK_ONLY.Enum()},
	} {
		d := saying(t, "x", req)
		sum := hex.EncodeToString(d.fingerprint[:])
		require.Empty(t, seen[sum], name)
		seen[sum] = name
	}
}

func TestAConversationCountsInTheQuotaAndItsWordsInTheQueue(t *testing.T) {
	text := "a subject"
	plain, subject := saying(t, "x", &openintentv1.SendMessageRequest{}), saying(t, "x", &openintentv1.SendMessageRequest{Subject: &text})
	require.Equal(t, plain.contentBytes()+len(text), subject.contentBytes())
	require.Equal(t, plain.Size()+len(text), subject.Size())
	words := saying(t, "@a @b", &openintentv1.SendMessageRequest{})
	require.Equal(t, []string{"a", "b"}, words.words)
	require.Equal(t, plain.Size()+len("@a @b")-len("x")+2*wordSize, words.Size())
	given := saying(t, "@a @b", &openintentv1.SendMessageRequest{Mentions: &structpb.ListValue{}})
	require.Empty(t, given.words, "whoever gives mentions has none found")
}

func TestWhatCollectTakes(t *testing.T) {
	for n, ok := range map[float64]bool{0: false, 1: true, 2: true, 100: true, 101: false, 1.5: false, -1: false, 1e308: false} {
		collect, err := collectFrom(structpb.NewStructValue(&structpb.Struct{
			Fields: map[string]*structpb.Value{"quorum": structpb.NewNumberValue(n)},
		}))
		if !ok {
			faulttest.RequireBadField(t, err, "collect.quorum")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, &message.Collect{Collection: message.CollectQuorum, Quorum: int(n)}, collect)
		require.Equal(t, fmt.Sprintf(`{"quorum":%v}`, n), string(collect.JSON()))
	}
}

// A parent may be shown to nobody but its sender and its recipients, in this channel, above its floor.
func TestWhichParentsASenderIsShown(t *testing.T) {
	channel := &channels.Rules{Key: channels.Key{IntentNo: 1, ChannelNo: 2}}
	viewer := message.Viewer{Agent: "alice", Participates: true}
	parent := func(change func(*message.Message)) *message.Message {
		m := &message.Message{IntentNo: 1, ChannelNo: 2, Ordinal: 5, Sender: "bob", Type: message.TypeNotify}
		if change != nil {
			change(m)
		}
		return m
	}
	for name, row := range map[string]struct {
		shown  bool
		parent *message.Message
	}{
		"to everyone":     {true, parent(nil)},
		"absent":          {false, nil},
		"to somebody":     {false, parent(func(m *message.Message) { m.Target = "carol" })},
		"to the sender":   {true, parent(func(m *message.Message) { m.Target = "alice" })},
		"another channel": {false, parent(func(m *message.Message) { m.ChannelNo = 3 })},
		"another intent":  {false, parent(func(m *message.Message) { m.IntentNo = 3 })},
		"evicted":         {false, parent(func(m *message.Message) { m.Ordinal = 4 })},
		"expired":         {false, parent(func(m *message.Message) { m.ExpiresAt = someTime })},
	} {
		s := situation{channel: channel, count: channels.Count{Floor: 4}, parent: row.parent, now: someTime}
		require.Equal(t, row.shown, s.showsParent(viewer), name)
	}
}

func TestARefusedParentSaysTheSameWhateverIsTrue(t *testing.T) {
	id := someMessageID
	d := saying(t, "x", &openintentv1.SendMessageRequest{ParentId: &id})
	s := situation{channel: &channels.Rules{}, now: someTime}
	viewer := message.Viewer{Agent: "alice", Participates: true}
	absent := s.converse(d, viewer)
	s.parent = &message.Message{Ordinal: 1, Sender: "bob", Target: "carol", Type: message.TypeNotify}
	require.Equal(t, absent, s.converse(d, viewer))
	require.Equal(t, absent, s.checkNew(d))
	faulttest.RequireBadField(t, absent, "parent_id")
}

// What a draft carries is decided anew at each attempt, and never in what the sender gave.
func TestAnAttemptLeavesNothingBehind(t *testing.T) {
	id, subject := someMessageID, "s"
	d := saying(t, "x", &openintentv1.SendMessageRequest{ParentId: &id, Subject: &subject})
	d.By = caller.Caller{Agent: "alice"}
	viewer := message.Viewer{Agent: "alice", Participates: true}
	for position := range int64(2) {
		s := situation{channel: &channels.Rules{}, now: someTime, parent: &message.Message{
			ID: id, Ordinal: 1, Position: position + 1, Sender: "bob", Type: message.TypeNotify,
		}}
		require.NoError(t, s.converse(d, viewer))
		require.Equal(t, &message.Conversation{ParentID: id, ThreadID: id, ThreadPosition: position + 1, Subject: "s"}, d.conversation)
		require.Equal(t, &message.Conversation{ParentID: id, Subject: "s"}, d.given)
	}
}
