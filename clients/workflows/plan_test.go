package workflows

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
)

// open returns a channel as a server sends it, with all options set.
func open(name string, change func(*openintentv1.Channel)) *openintentv1.Channel {
	channel := &openintentv1.Channel{
		Id: "chan_" + name, Name: name, MemberPolicy: intent,
		Options: &openintentv1.ChannelOptions{Audit: pointer(false), MaxMessages: pointer(int64(1000)), TurnBudget: pointer(int64(20))},
	}
	if change != nil {
		change(channel)
	}
	return channel
}

// noBrake stands for a turn budget of 0 in fileWith, for which 0 is the default.
const noBrake = -1

func fileWith(channels ...Channel) *File {
	for i := range channels {
		channels[i].At = Position{10 + i, 3}
		if channels[i].Policy == 0 {
			channels[i].Policy = intent
		}
		if channels[i].MaxMessages == 0 {
			channels[i].MaxMessages = 1000
		}
		switch channels[i].TurnBudget {
		case 0:
			channels[i].TurnBudget = 20
		case noBrake:
			channels[i].TurnBudget = 0
		}
	}
	return &File{Name: "w.yaml", Channels: channels}
}

func TestCompareSaysWhatHasToChange(t *testing.T) {
	members := func(names ...string) func(*openintentv1.Channel) {
		return func(c *openintentv1.Channel) { c.Members = names }
	}
	for name, c := range map[string]struct {
		wanted Channel
		open   *openintentv1.Channel
		line   string
		paths  []string
	}{
		"a plain one is missing": {Channel{Name: "a"}, nil, "+ channel a (intent)", nil},
		"a full one is missing": {
			Channel{
				Name: "a", Members: []string{"x"}, Policy: explicit, Audit: true, TTLSeconds: pointer(int64(60)), MaxMessages: 5, TurnBudget: 8, TaskID: "t1",
			}, nil,
			"+ channel a (explicit, 1 member, audit, ttl 60 s, max 5 messages, turn budget 8, task t1)", nil,
		},
		"one without a brake is missing": {Channel{Name: "a", TurnBudget: noBrake}, nil, "+ channel a (intent, no loop brake)", nil},
		"a budget of a crowd": {
			Channel{Name: "a", ConversationBudget: pointer(int64(30))}, open("a", nil), "~ channel a: conversation_budget none -> 30",
			[]string{"options.conversation_budget"},
		},
		"a budget of a crowd that goes": {
			Channel{Name: "a"}, open("a", func(ch *openintentv1.Channel) { ch.Options.ConversationBudget = pointer(int64(30)) }),
			"~ channel a: conversation_budget 30 -> none", []string{"options.conversation_budget"},
		},
		"no brake on a crowd": {
			Channel{Name: "a", ConversationBudget: pointer(int64(0))}, open("a", nil), "~ channel a: conversation_budget none -> 0",
			[]string{"options.conversation_budget"},
		},
		"a budget": {
			Channel{Name: "a", TurnBudget: noBrake}, open("a", nil), "~ channel a: turn_budget 20 -> 0", []string{"options.turn_budget"},
		},
		"nothing differs": {Channel{Name: "a"}, open("a", nil), "= channel a", nil},
		"members in another order": {
			Channel{Name: "a", Members: []string{"x", "y"}}, open("a", members("y", "x")), "= channel a", nil,
		},
		"a policy": {
			Channel{Name: "a", Policy: explicit}, open("a", nil), "~ channel a: member_policy intent -> explicit", []string{"member_policy"},
		},
		"a history": {
			Channel{Name: "a", FromJoin: true}, open("a", nil), "~ channel a: history all -> from_join", []string{"options.history"},
		},
		"a history that goes": {
			Channel{Name: "a"}, open("a", func(ch *openintentv1.Channel) {
				ch.Options.History = openintentv1.ChannelHistory_CHANNEL_HISTORY_FROM_JOIN.Enum()
			}),
			"~ channel a: history from_join -> all", []string{"options.history"},
		},
		"one with a history is missing": {Channel{Name: "a", FromJoin: true}, nil, "+ channel a (intent, history from join)", nil},
		"audit": {
			Channel{Name: "a", Audit: true}, open("a", nil), "~ channel a: audit false -> true", []string{"options.audit"},
		},
		"what the file no longer says": {
			Channel{Name: "a"},
			open("a", func(c *openintentv1.Channel) {
				c.Members = []string{"x"}
				c.Options.TtlSeconds, c.Options.MaxMessages = pointer(int64(60)), pointer(int64(5))
			}),
			"~ channel a: ttl_seconds 60 -> none; max_messages 5 -> 1000; members -x", []string{"options.ttl_seconds", "options.max_messages"},
		},
		"a time to live": {
			Channel{Name: "a", TTLSeconds: pointer(int64(60))}, open("a", nil), "~ channel a: ttl_seconds none -> 60", []string{"options.ttl_seconds"},
		},
		"some members": {
			Channel{Name: "a", Members: []string{"x", "z", "w"}}, open("a", members("y", "x")), "~ channel a: members +z +w -y", nil,
		},
		"many members": {
			Channel{Name: "a", Members: []string{"1", "2", "3", "4", "5", "6"}}, open("a", members("x")), "~ channel a: members +6 -x", nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			others := []*openintentv1.Channel{open("other", members("x"))}
			if c.open != nil {
				others = append(others, c.open)
			}
			changes, problems := Compare(fileWith(c.wanted), others)
			require.Empty(t, problems)
			require.Len(t, changes, 1, "channels that the file does not name are left alone")
			require.Equal(t, c.line, changes[0].String())
			require.Equal(t, c.open.GetId(), changes[0].ID)
			if c.open != nil {
				mask := changes[0].request().GetUpdateMask()
				require.Equal(t, c.paths, mask.GetPaths())
				require.True(t, mask.IsValid(&openintentv1.Channel{}))
			}
		})
	}
}

func TestCompareKeepsTheOrderOfTheFile(t *testing.T) {
	changes, problems := Compare(fileWith(Channel{Name: "z"}, Channel{Name: "a"}, Channel{Name: "m"}),
		[]*openintentv1.Channel{open("a", nil), open("z", nil)})
	require.Empty(t, problems)
	require.Equal(t, "[= channel z = channel a + channel m (intent)]", fmt.Sprint(changes))
}

func TestCompareRefusesAnotherTask(t *testing.T) {
	scoped := func(c *openintentv1.Channel) { c.TaskId = pointer("t1") }
	changes, problems := Compare(
		fileWith(Channel{Name: "same", TaskID: "t1"}, Channel{Name: "none"}, Channel{Name: "other", TaskID: "t2"}, Channel{Name: "new", TaskID: "t2"}),
		[]*openintentv1.Channel{open("same", scoped), open("none", scoped), open("other", scoped)})
	require.Equal(t, "[= channel same + channel new (intent, task t2)]", fmt.Sprint(changes))
	require.EqualError(t, problems,
		`w.yaml:11:3: the open channel "none" belongs to task t1, and in the file to no task, which cannot be changed; close that channel, or change the file.`+"\n"+
			`w.yaml:12:3: the open channel "other" belongs to task t1, and in the file to task t2, which cannot be changed; close that channel, or change the file.`)
}

func TestAChangeAsData(t *testing.T) {
	changes, _ := Compare(fileWith(Channel{Name: "a", Audit: true, Members: []string{"x"}}, Channel{Name: "b"}),
		[]*openintentv1.Channel{open("a", nil)})
	require.Equal(t, []Setting{{"audit", false, true}}, changes[0].Settings)
	require.Equal(t, []string{"x"}, changes[0].Added)
	require.Equal(t, []string{}, changes[0].Removed)
	require.Equal(t, []Setting{
		{"member_policy", nil, "intent"}, {"audit", nil, false}, {"max_messages", nil, int64(1000)}, {"history", nil, "all"},
		{"turn_budget", nil, int64(20)},
	}, changes[1].Settings, "a new channel's change has all of its settings")
}
