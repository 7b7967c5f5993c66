package agentchannel

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
)

// contract is a contract with one channel, whose lists have pages of so many entries.
type contract struct {
	openintentv1.MessageServiceClient
	openintentv1.ChannelServiceClient
	openintentv1.IntentServiceClient
	openintentv1.AgentServiceClient
	channel  *openintentv1.Channel
	messages []*openintentv1.Message
	page     int
	// looks is how many messages one page of the list looks at; 0: all. The caller does not see what hidden says.
	looks  int
	hidden string
	sent   []*openintentv1.SendMessageRequest
	notes  []string
	// intents are those of the caller, oldest first, with their channels.
	intents  []string
	channels map[string][]*openintentv1.Channel
}

func (c *contract) GetChannel(_ context.Context, r *openintentv1.GetChannelRequest, _ ...grpc.CallOption) (*openintentv1.Channel, error) {
	if r.GetChannelId() == "gone" {
		return nil, status.Error(codes.NotFound, "gone")
	}
	return c.channel, nil
}

func (c *contract) SendMessage(_ context.Context, r *openintentv1.SendMessageRequest, _ ...grpc.CallOption) (*openintentv1.Message, error) {
	c.sent = append(c.sent, r)
	return &openintentv1.Message{Id: fmt.Sprint("msg_", len(c.sent)), Kind: r.Kind, Payload: r.GetPayload()}, nil
}

func (c *contract) Heartbeat(_ context.Context, r *openintentv1.HeartbeatRequest, _ ...grpc.CallOption) (*openintentv1.HeartbeatResponse, error) {
	c.notes = append(c.notes, r.GetStatusNote())
	return &openintentv1.HeartbeatResponse{}, nil
}

// ListMessages lists the newest, or what follows a message or a time, oldest first. A document is the newest message of its kind.
func (c *contract) ListMessages(
	_ context.Context, r *openintentv1.ListMessagesRequest, _ ...grpc.CallOption,
) (*openintentv1.ListMessagesResponse, error) {
	after := slices.IndexFunc(c.messages, func(m *openintentv1.Message) bool { return m.GetId() == r.GetSince() }) + 1
	if at, err := time.Parse(time.RFC3339Nano, r.GetSince()); err == nil {
		for after < len(c.messages) && !c.messages[after].GetCreatedAt().AsTime().After(at) {
			after++
		}
	}
	answer := &openintentv1.ListMessagesResponse{}
	looked := c.messages[after:]
	if c.looks > 0 && r.Since != nil && len(looked) > c.looks {
		looked = looked[:c.looks]
		answer.Bounded, answer.NextSince = true, new(looked[len(looked)-1].GetId())
	}
	for _, m := range looked {
		if (r.Kind == nil || m.GetKind() == r.GetKind()) && m.GetSender() != c.hidden {
			answer.Messages = append(answer.Messages, m)
		}
	}
	switch limit := min(c.page, int(r.GetLimit())); {
	case r.GetDocuments():
		answer.Messages = answer.Messages[max(0, len(answer.Messages)-1):]
	case len(answer.GetMessages()) <= limit:
	case r.Since != nil:
		answer.Messages = answer.Messages[:limit]
	default:
		answer.Messages = answer.Messages[len(answer.Messages)-limit:]
	}
	answer.Messages = slices.Clone(answer.Messages)
	return answer, nil
}

func (c *contract) ListIntents(
	_ context.Context, r *openintentv1.ListIntentsRequest, _ ...grpc.CallOption,
) (*openintentv1.ListIntentsResponse, error) {
	end := len(c.intents)
	if r.GetCursor() != "" {
		end, _ = strconv.Atoi(r.GetCursor())
	}
	begin := max(0, end-min(c.page, int(r.GetLimit())))
	answer := &openintentv1.ListIntentsResponse{}
	for _, id := range slices.Backward(c.intents[begin:end]) {
		answer.Intents = append(answer.Intents, &openintentv1.Intent{Id: id})
	}
	if begin > 0 {
		answer.NextCursor = new(strconv.Itoa(begin))
	}
	return answer, nil
}

func (c *contract) ListChannels(
	_ context.Context, r *openintentv1.ListChannelsRequest, _ ...grpc.CallOption,
) (*openintentv1.ListChannelsResponse, error) {
	all := c.channels[r.GetIntentId()]
	begin, _ := strconv.Atoi(r.GetCursor())
	answer := &openintentv1.ListChannelsResponse{Channels: all[begin:min(begin+c.page, len(all))]}
	if begin+c.page < len(all) {
		answer.NextCursor = new(strconv.Itoa(begin + c.page))
	}
	return answer, nil
}

var now = time.Unix(1_000_000, 0).UTC()

// deskAt returns ann's desk, in a channel with these messages.
func deskAt(messages ...*openintentv1.Message) (*Desk, *contract) {
	c := &contract{channel: &openintentv1.Channel{Id: "chan_1", Address: new("VK47")}, messages: messages, page: 1000}
	if len(messages) > 0 {
		c.channel.LastMessageAt = messages[len(messages)-1].GetCreatedAt()
	}
	return &Desk{
		Options: Options{Cadence: time.Minute, Now: func() time.Time { return now }},
		Caller:  &doors.Caller{Agent: "ann", Messages: c, Channels: c, Intents: c, Agents: c},
	}, c
}

// event is a message of somebody, so long ago.
func event(ago time.Duration, sender, kind, payload string) *openintentv1.Message {
	m := &openintentv1.Message{
		Id: fmt.Sprint("msg_", ago), Sender: sender, Kind: &kind, CreatedAt: timestamppb.New(now.Add(-ago)), Payload: &structpb.Struct{},
	}
	if err := m.GetPayload().UnmarshalJSON([]byte(payload)); err != nil {
		panic(err)
	}
	return m
}

// Only an agent that holds work, had it all the time and said nothing in all that time is presumed dead, and only where that can be known.
func TestWhoIsPresumedDead(t *testing.T) {
	const minutes = time.Minute
	holds := func(ago time.Duration, by, holder string) *openintentv1.Message {
		return event(ago, by, kindState, `{"handoff":{"holder":"`+holder+`"}}`)
	}
	says := func(ago time.Duration, by string) *openintentv1.Message { return event(ago, by, "log", `{}`) }
	for what, given := range map[string]struct {
		messages []*openintentv1.Message
		page     int
		looks    int
		closed   bool
		dead     bool
	}{
		"silent for long":             {messages: []*openintentv1.Message{holds(9*minutes, "ann", "bob")}, dead: true},
		"silent for just long enough": {messages: []*openintentv1.Message{holds(5*minutes, "ann", "bob")}, dead: true},
		"not silent for long enough":  {messages: []*openintentv1.Message{holds(9*minutes, "ann", "bob"), says(4*minutes, "bob")}},
		"others speak":                {messages: []*openintentv1.Message{holds(9*minutes, "ann", "bob"), says(4*minutes, "ann")}, dead: true},
		"it spoke on the second page": {
			messages: []*openintentv1.Message{holds(9*minutes, "ann", "bob"), says(4*minutes, "ann"), says(3*minutes, "bob")}, page: 1,
		},
		"it spoke after messages that the caller does not see": {
			messages: []*openintentv1.Message{holds(9*minutes, "ann", "bob"), says(4*minutes, "eve"), says(3*minutes, "bob")}, looks: 1,
		},
		"named again by others": {messages: []*openintentv1.Message{holds(9*minutes, "ann", "bob"), holds(3*minutes, "ann", "bob")}, dead: true},
		"named again and again": {
			messages: []*openintentv1.Message{holds(9*minutes, "ann", "bob"), holds(4*minutes, "ann", "bob"), holds(3*minutes, "ann", "bob")}, dead: true,
		},
		"got the work of late": {messages: []*openintentv1.Message{holds(9*minutes, "ann", "ann"), holds(3*minutes, "ann", "bob")}},
		"got it back of late": {
			messages: []*openintentv1.Message{holds(9*minutes, "ann", "bob"), holds(4*minutes, "ann", "ann"), holds(3*minutes, "ann", "bob")},
		},
		"the first state came of late": {messages: []*openintentv1.Message{says(9*minutes, "ann"), holds(4*minutes, "ann", "bob")}},
		"a closed channel":             {messages: []*openintentv1.Message{holds(9*minutes, "ann", "bob")}, closed: true},
		"too many events to look through": {messages: []*openintentv1.Message{
			holds(9*minutes, "ann", "bob"), says(4*minutes, "ann"), says(3*minutes, "ann"), says(2*minutes, "ann"), says(minutes, "ann"), says(1, "ann"),
		}, page: 1},
	} {
		d, c := deskAt(given.messages...)
		c.page, c.looks, c.hidden = max(given.page, 1), given.looks, "eve"
		if given.page == 0 {
			c.page = 1000
		}
		if given.closed {
			c.channel.Status = openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED
		}
		page, err := d.Read(t.Context(), "VK47")
		require.NoError(t, err)
		require.True(t, page.Agents["bob"].HoldsWork, what)
		require.Equal(t, given.dead, page.Agents["bob"].PresumedDead, what)
	}
}

// A document is marked as one and keeps its idempotency key and its condition; other events have no condition. A status is a sign of life.
func TestWhatIsSentOfAnEvent(t *testing.T) {
	d, c := deskAt(event(time.Minute, "bob", kindState, `{}`))
	key := "k"
	for kind, document := range map[string]bool{kindSpec: true, kindState: true, kindStatus: false, "log": false, "own": false} {
		c.sent, c.notes = nil, nil
		_, err := d.Post(t.Context(), "VK47", Posting{Kind: kind, Payload: json.RawMessage(`"all well"`), Key: &key})
		require.NoError(t, err)
		require.Equal(t, "k", c.sent[0].GetIdempotencyKey(), kind)
		require.Equal(t, document, c.sent[0].GetDocument(), kind)
		require.Nil(t, c.sent[0].Replaces, kind)
		require.Equal(t, kind == kindStatus, len(c.notes) == 1, kind)
		for _, condition := range []Posting{{Any: true}, {Replaces: new("msg_9")}, {Replaces: new("")}} {
			condition.Kind, condition.Payload = kind, json.RawMessage(`{}`)
			_, err := d.Post(t.Context(), "VK47", condition)
			switch {
			case !document:
				require.ErrorIs(t, err, errNoPrecondition, kind)
			case condition.Any && kind == kindSpec:
				require.ErrorIs(t, err, errDocumentMissing)
			case condition.Any:
				require.Equal(t, c.messages[0].GetId(), c.sent[len(c.sent)-1].GetReplaces(), kind)
			default:
				require.Equal(t, *condition.Replaces, c.sent[len(c.sent)-1].GetReplaces(), kind)
				require.NotNil(t, c.sent[len(c.sent)-1].Replaces, kind)
			}
		}
		_, err = d.Post(t.Context(), "VK47", Posting{Kind: kind})
		require.Equal(t, document, err != nil, "%s: a document without a payload would be empty", kind)
	}
}

// The newest events come newest first, and those after an event from the next one on: an empty page that has looked at enough leads on.
func TestListsOfEvents(t *testing.T) {
	var all []*openintentv1.Message
	for i := 9; i > 0; i-- {
		all = append(all, event(time.Duration(i)*time.Minute, "bob", map[bool]string{true: "rare", false: "log"}[i == 1], `{}`))
	}
	d, c := deskAt(all...)
	ids := func(wanted Selection) (ids []string) {
		found, err := d.Events(t.Context(), "VK47", wanted)
		require.NoError(t, err)
		for _, one := range found {
			ids = append(ids, one.ID)
		}
		return ids
	}
	require.Equal(t, []string{all[8].GetId(), all[7].GetId()}, ids(Selection{Limit: 2}))
	require.Equal(t, []string{all[2].GetId(), all[1].GetId()}, ids(Selection{Limit: 2, After: new(all[0].GetId())}))
	c.looks = 1
	require.Equal(t, []string{all[8].GetId()}, ids(Selection{Limit: 2, Kind: new("rare"), After: new(all[0].GetId())}))
}

// A list has each channel once, over all its pages: those to which the key is kept on the first one, and of each intent all of them.
func TestAListHasEachChannelOnce(t *testing.T) {
	d, c := deskAt()
	c.channels = make(map[string][]*openintentv1.Channel)
	c.channel = &openintentv1.Channel{Id: "kept", Address: new("KEPT")}
	d.Caller.OnlyChannels = []string{"gone", "kept"}
	c.page = 3
	expected := []string{"KEPT"}
	for i := range 13 {
		id := fmt.Sprint("int_", i)
		c.intents = append(c.intents, id)
		for j := range 10 {
			channel := &openintentv1.Channel{Id: fmt.Sprint(i, "-", j), Address: new(fmt.Sprint("C", i, "-", j))}
			switch j {
			case 3:
				channel.Address = nil
			case 4:
				channel.Status = openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED
			}
			c.channels[id] = append(c.channels[id], channel)
		}
	}
	for i := 12; i >= 0; i-- {
		for j := 9; j >= 0; j-- {
			if j != 3 && j != 4 {
				expected = append(expected, fmt.Sprint("C", i, "-", j))
			}
		}
	}
	var found []string
	cursor, pages := "", 0
	for {
		page, err := d.List(t.Context(), false, cursor)
		require.NoError(t, err)
		for _, one := range page.Channels {
			found = append(found, one.ID)
		}
		pages++
		require.Equal(t, page.More, page.NextCursor != "")
		if cursor = page.NextCursor; cursor == "" {
			break
		}
		c.intents = append(c.intents, fmt.Sprint("new_", pages)) // which moves nothing
	}
	require.Equal(t, expected, found)
	require.Equal(t, 2, pages)
	whole, err := d.List(t.Context(), true, "")
	require.NoError(t, err)
	require.Contains(t, fmt.Sprint(whole.Channels), "C12-4", "the closed ones, too")
}

// A record gets as its note what a status event calls its note, and otherwise its summary or its text.
func TestWhichTextOfAStatusBecomesANote(t *testing.T) {
	c := &contract{}
	desk := &Desk{Caller: &doors.Caller{Agent: "ann", Agents: c}}
	for _, payload := range []string{
		`{"text": "c", "summary": "b", "note": "a"}`, `{"text": "c", "summary": "b"}`, `{"text": "c"}`, `{"note": 7, "text": "c"}`, `{}`,
	} {
		desk.beat(t.Context(), json.RawMessage(payload))
	}
	require.Equal(t, []string{"a", "b", "c", "c", ""}, c.notes)
}
