package writing

import (
	"maps"
	"slices"

	"openintent/channels"
	"openintent/messaging/message"
	"openintent/messaging/wake"
)

// wake notes whom the message affects beside those who follow its intent's log: the followers of its channel and, for a response,
// whoever waits for it.
func (b *batch) wake(m *message.Message) {
	b.wakes[channels.Key{IntentNo: m.IntentNo, ChannelNo: m.ChannelNo}] = struct{}{}
	if m.CorrelationID != "" {
		b.wakes[wake.RequestTopic(m.CorrelationID)] = struct{}{}
	}
}

// topics returns the wake-up topics of everyone this batch affects.
func (b *batch) topics() []any { return slices.Collect(maps.Keys(b.wakes)) }

// wakeReaders wakes everyone the batch affects, once its commit is certain. It hands them what the batch stored
// (wake.Handover), so that they need not read it.
func (b *batch) wakeReaders() { b.hub.WakeWith(b.handovers, b.topics()...) }
