package replay

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhatOneAuthorWritesInOneGoComesTogether(t *testing.T) {
	room, other := spot{channel: "c"}, spot{channel: "c", thread: "m"}
	after := func(count int) time.Time { return noon.Add(time.Duration(count) * time.Second) }
	count := func(rules Rules, write func(w *windows)) int {
		w := newWindows(rules)
		write(w)
		return w.deliveries
	}
	window := Rules{ComposeSeconds: 3, ComposeMostSeconds: 10}
	three := func(w *windows) {
		for i := range 3 {
			w.buffered(burst{room, "a"}, after(i))
		}
	}
	require.Equal(t, 3, count(Today(), three), "without a window")
	require.Equal(t, 1, count(window, three))
	require.Equal(t, 2, count(window, func(w *windows) { three(w); w.buffered(burst{room, "a"}, after(5)) }), "the author was silent")
	require.Equal(t, 3, count(window, func(w *windows) {
		three(w)
		w.buffered(burst{room, "b"}, after(2))
		w.buffered(burst{other, "a"}, after(2))
	}), "another author, another thread")
	require.Equal(t, 2, count(window, func(w *windows) {
		for i := range 12 {
			w.buffered(burst{room, "a"}, after(i))
		}
	}), "nobody waits for longer than the window lasts")
	require.Equal(t, 2, count(window, func(w *windows) {
		for range maxBurst + 1 {
			w.buffered(burst{room, "a"}, noon)
		}
	}), "a delivery is bounded")
	require.Equal(t, 1, count(window, func(w *windows) { three(w); w.immediate(burst{room, "a"}, after(2)) }), "it takes along what waits")
	require.Equal(t, 2, count(window, func(w *windows) { three(w); w.immediate(burst{room, "b"}, after(2)) }))
	require.Equal(t, 3, count(window, func(w *windows) {
		three(w)
		w.immediate(burst{room, "b"}, after(2))
		w.buffered(burst{room, "a"}, after(2))
	}), "what interrupts has ended the window")
	require.Equal(t, 2, count(window, func(w *windows) {
		three(w)
		w.immediate(burst{spot{channel: "d"}, "b"}, after(2))
		w.buffered(burst{room, "a"}, after(3))
	}), "not that of another channel")
}

func TestADigestCountsAndNamesWhatItStandsFor(t *testing.T) {
	d := newDigests("i", Rules{DigestSeconds: 60, MaxChars: 2000})
	write := func(position int64, author, kind, subject string) {
		m := &Message{
			Position: position, ID: "m", ChannelID: "c", Channel: "builds", Sender: author, Subject: subject,
			CreatedAt: noon.Add(time.Duration(position) * time.Second),
		}
		require.True(t, d.add(m, kind))
	}
	write(4, "bob", "", "")
	write(5, "ci", "status", "build 1")
	write(9, "ci", "status", "build 2")
	summed := d.open.summary(d.maxChars)
	require.Equal(t, summary{
		MessageCount: 3, Counts: []count{{counted{"c", "builds", "ci", "status"}, 2}, {counted{"c", "builds", "bob", ""}, 1}},
		Subjects: []subject{{"m", "build 2"}, {"m", "build 1"}}, Spans: []span{{"i", 4, 9}},
	}, summed)
	require.Zero(t, d.deliveries)
	write(64, "ci", "status", "")
	require.Equal(t, 1, d.deliveries)
	require.Equal(t, charactersIn(summed), d.characters)
	d.close()
	d.close()
	require.Equal(t, 2, d.deliveries)
	require.False(t, newDigests("i", Today()).add(&Message{}, "log"), "without digests")
}

func TestADigestIsBounded(t *testing.T) {
	d := newDigests("i", Rules{DigestSeconds: 60, MaxChars: 500})
	for i := range maxDigested {
		d.add(&Message{Position: int64(i), Sender: strings.Repeat("s", 100+i), Subject: strings.Repeat("é", 20), CreatedAt: noon}, "log")
	}
	summed := d.open.summary(d.maxChars)
	require.LessOrEqual(t, charactersIn(summed), 500)
	require.NotEmpty(t, summed.Counts)
	require.Equal(t, maxDigested-len(summed.Counts), summed.LeftOutCount)
	d.add(&Message{Position: maxDigested, CreatedAt: noon}, "log")
	require.Equal(t, 1, d.deliveries)
}
