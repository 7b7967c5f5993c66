package following

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/channels"
	"openintent/intents"
	"openintent/messaging/message"
	"openintent/messaging/reading"
	"openintent/messaging/wake"
)

var start = time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)

// What a look adds to the shared messages must leave no gap among them, whatever eviction has left of the rows.
func TestSharedMessagesHaveNoGap(t *testing.T) {
	rows := func(ordinals ...int64) []*message.Message {
		var rows []*message.Message
		for _, ordinal := range ordinals {
			rows = append(rows, &message.Message{Ordinal: ordinal})
		}
		return rows
	}
	pageAt := func(count, floor int64) *sharedPage {
		return &sharedPage{LogPage: reading.LogPage{Snapshot: reading.Snapshot{
			Head: intents.Head{Epoch: 1}, Channel: &channels.Rules{}, Now: start,
			Count: channels.Count{Messages: count, Floor: floor},
		}}}
	}
	before := pageAt(3, 0)
	before.Items, before.after, before.Through, before.sharedSince = itemsOf(rows(1, 2, 3)), 0, 3, start
	for _, row := range []struct {
		name           string
		count, floor   int64
		rows           []*message.Message
		first, last    int64 // ordinals of what is shared then; 0: nothing is
		after, through int64
	}{
		{"nothing new", 3, 0, nil, 1, 3, 0, 3},
		{"the next ones", 5, 0, rows(4, 5), 1, 5, 0, 5},
		{"the next ones of many", 900, 0, rows(4, 5), 1, 5, 0, 5},
		{"the floor has passed what is shared", 9, 6, rows(7, 8, 9), 7, 9, 6, 9},
		{"an evicted request is left", 9, 6, rows(4, 7, 8, 9), 7, 9, 6, 9},
		{"only evicted requests are left", 900, 898, rows(4, 5), 0, 0, 900, 900},
		{"everything was removed", 9, 0, nil, 0, 0, 9, 9},
	} {
		next := pageAt(row.count, row.floor)
		next.extend(before, row.rows)
		require.Equal(t, row.after, next.after, row.name)
		require.Equal(t, row.through, next.Through, row.name)
		if row.first == 0 {
			require.Empty(t, next.Items, row.name)
			continue
		}
		require.Len(t, next.Items, int(row.last-row.first+1), row.name)
		for i, it := range next.Items {
			require.Equal(t, row.first+int64(i), it.Place, row.name)
		}
		require.Equal(t, next.after+1, next.Items[0].Place, row.name)
	}

	changed := pageAt(4, 0)
	changed.Head.Epoch = 2
	changed.extend(before, rows(4))
	require.Equal(t, int64(3), changed.after, "when rules have changed it begins anew")
	old := pageAt(4, 0)
	old.Now = start.Add(wake.SharedFor + time.Microsecond)
	old.extend(before, rows(4))
	require.Equal(t, int64(3), old.after, "when the messages are old it begins anew")
	require.Equal(t, old.Now, old.sharedSince)
}

func TestSharedMessagesAreBounded(t *testing.T) {
	latest := &sharedPage{LogPage: reading.LogPage{Snapshot: reading.Snapshot{Channel: &channels.Rules{}, Now: start}}, sharedSince: start}
	add := func(sizes ...int) {
		var rows []*message.Message
		for i, size := range sizes {
			rows = append(rows, &message.Message{Ordinal: latest.Through + int64(i) + 1, Payload: make([]byte, size)})
		}
		next := &sharedPage{LogPage: reading.LogPage{Snapshot: latest.Snapshot}}
		next.Count.Messages += int64(len(rows))
		next.extend(latest, rows)
		latest = next
		require.Equal(t, latest.Through-latest.after, int64(len(latest.Items)))
		require.Equal(t, latest.Count.Messages, latest.Through)
	}
	for range 2 * tailLength / tailPage {
		add(make([]int, tailPage)...)
	}
	require.Len(t, latest.Items, tailLength)
	add(tailBytes/2, tailBytes/4)
	require.Len(t, latest.Items, tailLength)
	add(tailBytes / 2)
	require.Len(t, latest.Items, 2, "those that came first make room")
	require.Equal(t, tailBytes/4+tailBytes/2, latest.size)
	add(tailBytes + 1)
	require.Empty(t, latest.Items)
	require.Zero(t, latest.size)
	add(1, 2)
	require.Len(t, latest.Items, 2)
}

// What a look adds to an intent's shared items joins what was shared, unless rules have changed or it is old.
func TestSharedItemsOfAnIntent(t *testing.T) {
	pageAt := func(last int64) *sharedPage {
		return &sharedPage{LogPage: reading.LogPage{Snapshot: reading.Snapshot{Head: intents.Head{Epoch: 1, LastPosition: last}, Now: start}}}
	}
	rows := func(places ...int64) (items []reading.Item) {
		for _, at := range places {
			items = append(items, reading.Item{Place: at, Message: &message.Message{Position: at}, Encodings: new(reading.Encodings)})
		}
		return items
	}
	first := pageAt(4)
	first.share(&sharedPage{}, false, 4, nil, 4)
	require.Empty(t, first.Items)
	second := pageAt(9)
	second.share(first, !second.stale(first), first.Through, rows(6, 7), 9)
	require.Equal(t, [...]int64{4, 9}, [...]int64{second.after, second.Through})
	third := pageAt(12)
	third.share(second, !third.stale(second), second.Through, rows(12), 12)
	require.Equal(t, [...]int64{4, 12}, [...]int64{third.after, third.Through})
	require.Equal(t, rows(7, 12), third.since(6))
	require.Equal(t, rows(6, 7, 12), third.since(4))
	require.Equal(t, rows(12), third.since(9))
	require.Empty(t, third.since(12))
	changed := pageAt(13)
	changed.Head.Epoch = 2
	changed.share(third, !changed.stale(third), third.Through, rows(13), 13)
	require.Equal(t, [...]int64{12, 13}, [...]int64{changed.after, changed.Through})
	require.Equal(t, rows(13), changed.Items)
}
