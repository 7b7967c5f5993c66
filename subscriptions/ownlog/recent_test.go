package ownlog

import (
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/messaging/message"
	"openintent/messaging/reading"
	"openintent/subscriptions/delivering"
	"openintent/subscriptions/record"
)

func TestRecentNumbersAreBounded(t *testing.T) {
	var recent recentNumbers
	page := func(number int64, size int) recentPage {
		entry := reading.Entry{Message: &message.Message{Payload: make([]byte, size)}}
		return recentPage{1, []delivering.Numbered{{Delivery: record.Delivery{Number: number}, Entry: entry}}}
	}
	for number := range int64(2 * manyRecent) {
		recent = recent.with(page(number, 1))
		recent = recent.with(recentPage{})
	}
	require.Len(t, recent, manyRecent)
	require.Equal(t, int64(2*manyRecent-1), recent[manyRecent-1].rows[0].Number)
	before := recent
	recent = recent.with(page(999, manyRecentBytes-10))
	require.Less(t, len(recent), manyRecent)
	require.Equal(t, int64(999), recent[len(recent)-1].rows[0].Number)
	require.Len(t, recent.with(page(1000, manyRecentBytes)), 1)
	require.Len(t, before, manyRecent)
	require.Equal(t, int64(manyRecent), before[0].rows[0].Number)
}
