package messaging

import (
	"openintent/internal/database"
	"openintent/messaging/attention"
	"openintent/messaging/reading"
)

// attended returns the entries of a page that the reader sees and wants. If the filter includes attention, messages have it.
func (v *feedView) attended(tx *database.Tx) (entries []reading.Entry, err error) {
	var deliveries []attention.Delivery
	var messages []int // which entries the deliveries are
	for _, it := range v.Items {
		entry, keep := v.entry(it)
		if !keep {
			continue
		}
		if v.feed.Filter.Attention && entry.Message != nil {
			deliveries, messages = append(deliveries, v.delivery(entry)), append(messages, len(entries))
		}
		entries = append(entries, entry)
	}
	judgements, err := attention.For(tx, deliveries)
	for i, judged := range judgements {
		entries[messages[i]].Attention = judged
	}
	return entries, err
}

// delivery returns the delivery of a message to the reader.
func (v *feedView) delivery(entry reading.Entry) attention.Delivery {
	in, _ := v.StateOf(entry.ChannelNo)
	of := v.Snapshot
	of.Channel, of.Count = in.Channel, in.Count
	return attention.Delivery{
		Situation: of.SituationOf(entry.Message), Viewer: of.Viewer(v.feed.By.Agent, v.feed.By.IsOperator), Floor: of.Count.Floor,
	}
}
