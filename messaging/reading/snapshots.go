package reading

import (
	"openintent/agents"
	"openintent/channels"
	"openintent/intents"
	"openintent/internal/database"
	"openintent/messaging/message"
)

// Snapshots holds the snapshots of several channels of several intents, all of one moment. It takes a few statements,
// however many channels there are.
type Snapshots struct {
	reader    Reader
	Tx        *database.Tx
	heads     intents.Heads
	Access    map[int64]*intents.Rules
	Presences map[string]agents.Presence
	byChannel map[channels.Key]*Snapshot
}

// Snapshots begins with the heads, as they are in the transaction's snapshot or as it has locked them, and with the agents'
// records.
func (r Reader) Snapshots(tx *database.Tx, heads intents.Heads, presences map[string]agents.Presence) (*Snapshots, error) {
	access, err := r.Intents.AllRules(tx, heads)
	return &Snapshots{
		reader: r, Tx: tx, heads: heads, Access: access, Presences: presences, byChannel: make(map[channels.Key]*Snapshot),
	}, err
}

// Include takes the snapshots of the messages' channels, unless it has them, and completes the messages with what follows
// from their channels. Deleted channels, and channels of intents whose heads were not given, have no snapshot.
func (v *Snapshots) Include(messages []*message.Message) error {
	var keys []channels.Key
	for _, m := range messages {
		key := m.Key()
		if _, known := v.byChannel[key]; !known && v.heads.Get(m.IntentNo) != nil {
			keys = append(keys, key)
		}
	}
	keys = channels.DistinctKeys(keys)
	rules, err := v.reader.Channels.AllRules(v.Tx, keys, v.heads, v.Access)
	if err != nil {
		return err
	}
	counts, err := channels.LoadCounts(v.Tx, keys)
	if err != nil {
		return err
	}
	for _, key := range keys {
		v.byChannel[key] = nil
		if channel, count := rules[key], counts[key]; channel != nil && count != nil {
			head := v.heads.Get(key.IntentNo)
			v.byChannel[key] = &Snapshot{
				Head: *head, Access: v.Access[key.IntentNo], Channel: channel, Count: *count, Presences: v.Presences,
				Now: head.Now(),
			}
		}
	}
	var known []*message.Message
	for _, m := range messages {
		if l := v.Of(m); l != nil {
			m.ChannelID = l.Channel.ID
			known = append(known, m)
		}
	}
	return Snapshot{Presences: v.Presences}.markAbandonedIn(v.Tx, known, func(m *message.Message) bool { return v.Of(m).Closed() })
}

// Of returns the snapshot of a message's channel. It is nil when there is none, and for no message.
func (v *Snapshots) Of(m *message.Message) *Snapshot {
	if m == nil {
		return nil
	}
	return v.byChannel[m.Key()]
}
