package messaging

import (
	"openintent/agents"
	"openintent/channels"
	"openintent/database"
	"openintent/intents"
)

// survey is a look at several channels of several intents at once, in a few statements however many they are.
type survey struct {
	reader    Reader
	tx        *database.Tx
	heads     intents.Heads
	access    map[int64]*intents.Rules
	presences map[string]agents.Presence
	looks     map[channels.Key]*look
}

// survey begins one with the heads, as they are in the transaction's snapshot or locked by it, and the agents' records.
func (r Reader) survey(tx *database.Tx, heads intents.Heads, presences map[string]agents.Presence) (*survey, error) {
	access, err := r.Intents.AllRules(tx, heads)
	return &survey{
		reader: r, tx: tx, heads: heads, access: access, presences: presences, looks: make(map[channels.Key]*look),
	}, err
}

// include looks at the channels of the messages, as far as they are not in the survey yet, and completes the messages with
// what follows from their channels. Deleted channels, and those of intents outside of the survey, have no look.
func (v *survey) include(messages []*Message) error {
	var keys []channels.Key
	for _, m := range messages {
		key := m.channel()
		if _, known := v.looks[key]; !known && v.heads.Get(m.IntentNo) != nil {
			keys = append(keys, key)
		}
	}
	keys = channels.DistinctKeys(keys)
	rules, err := v.reader.Channels.AllRules(v.tx, keys, v.heads, v.access)
	if err != nil {
		return err
	}
	counts, err := channels.LoadCounts(v.tx, keys)
	if err != nil {
		return err
	}
	for _, key := range keys {
		v.looks[key] = nil
		if channel, count := rules[key], counts[key]; channel != nil && count != nil {
			head := v.heads.Get(key.IntentNo)
			v.looks[key] = &look{
				head: *head, access: v.access[key.IntentNo], channel: channel, count: *count, presences: v.presences,
				now: head.Now(),
			}
		}
	}
	var known []*Message
	for _, m := range messages {
		if l := v.look(m); l != nil {
			m.ChannelID = l.channel.ID
			known = append(known, m)
		}
	}
	return look{presences: v.presences}.markAbandonedIn(v.tx, known, func(m *Message) bool { return v.look(m).closed() })
}

// look gives the look at a message's channel; nil when there is none, or no message.
func (v *survey) look(m *Message) *look {
	if m == nil {
		return nil
	}
	return v.looks[m.channel()]
}
