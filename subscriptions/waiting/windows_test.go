package waiting

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging/attention"
	"openintent/messaging/message"
)

// conversationOf draws a conversation of several agents in several channels of two intents, as bob reads it.
func conversationOf(t *rapid.T, begin time.Time) []Entry {
	now := begin
	positions := make(map[int64]int64)
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Entry {
		now = now.Add(time.Duration(rapid.Int64Range(1, 12_000).Draw(t, "pause")) * time.Millisecond)
		intentNo := rapid.Int64Range(1, 2).Draw(t, "intent")
		positions[intentNo]++
		m := &message.Message{
			IntentNo: intentNo, ChannelNo: rapid.Int64Range(1, 2).Draw(t, "channel"), Position: positions[intentNo],
			Sender: rapid.SampledFrom([]string{"ann", "bob", "cid"}).Draw(t, "sender"), CreatedAt: now, Open: true,
			Target: rapid.SampledFrom([]string{"bob", "*", "role:r"}).Draw(t, "to"),
			Type: rapid.SampledFrom([]message.Type{message.TypeRequest, message.TypeResponse, message.TypeNotify,
				message.TypeBroadcast}).Draw(t, "type"),
			Payload: []byte(`{"text":"words of some length"}`),
		}
		m.ID = fmt.Sprintf("%d-%d", m.IntentNo, m.Position)
		said := message.Conversation{
			Kind:         rapid.SampledFrom([]string{"", "progress", "ack"}).Draw(t, "kind"),
			Priority:     rapid.SampledFrom([]message.Priority{"", message.PriorityUrgent}).Draw(t, "priority"),
			Directedness: rapid.SampledFrom([]openintentv1.Directedness{0, openintentv1.Directedness_DIRECTEDNESS_AMBIENT}).Draw(t, "wish"),
		}
		if rapid.Bool().Draw(t, "mentions") {
			said.Mentions = []string{"bob"}
		}
		if rapid.Bool().Draw(t, "subject") {
			said.Subject = strings.Repeat(rapid.SampledFrom([]string{"x", "\"", "ö", "\u2028"}).Draw(t, "letter"), 200)
		}
		m.Conversation = &said
		e := Entry{
			IntentNo: intentNo, IntentID: fmt.Sprintf("01a1fcc8-ce32-7d1b-b5f0-6c9a2e4d8f1%d", intentNo), Position: m.Position,
			ChannelNo: m.ChannelNo, ChannelID: "chan_01M7YCHKJ11MAM2FWJ1DX9NJHS",
			ChannelName: strings.Repeat("c", int(m.ChannelNo)*50), Message: m,
		}
		if m.Sender != "bob" {
			relation := attention.RelationOf(m, message.Viewer{Agent: "bob"})
			e.Attention = attention.Judge(m, attention.Facts{Agent: "bob", Relation: relation, ChannelName: "talk"}, now)
		}
		return e
	}), 1, 80).Draw(t, "conversation")
}

// mustAnswer reports whether somebody waits for an answer of bob.
func mustAnswer(e Entry) bool {
	return e.Attention != nil && e.Attention.Policy == openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_RESPOND
}

// Whatever is said, everything is delivered once. Nothing that must be answered is digested or waits longer than the compose window.
// What one sender writes in one conversation stays in order, except for what is digested. No delivery exceeds its bounds.
func TestWindowsKeepNothingBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		begin := time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)
		entries := conversationOf(t, begin)
		rules := Rules{
			Longest: Longest, Digest: time.Duration(rapid.Int64Range(0, 60).Draw(t, "digest")) * time.Second,
			MaxChars: rapid.IntRange(500, 3000).Draw(t, "chars"),
		}
		if rapid.Bool().Draw(t, "compose") {
			rules.Silence = Silence
		}
		deliveredAt, digestedOnes := make(map[[2]int64]time.Time), make(map[[2]int64]bool)
		byPlace := make(map[[2]int64]Entry)
		last := make(map[conversation]int64)
		deliver := func(out []Group, now time.Time) {
			for _, d := range out {
				var contents []Entry
				for _, row := range d.Messages {
					place := [2]int64{row.IntentNo, row.Position}
					require.NotContains(t, deliveredAt, place, "it came twice")
					deliveredAt[place], digestedOnes[place] = now, d.Digest
					contents = append(contents, byPlace[place])
					if key := row.conversation(); !d.Digest && key.sender != "" {
						require.Less(t, last[key], row.Position, "a sender's messages change places")
						last[key] = row.Position
					}
				}
				if d.Digest {
					require.LessOrEqual(t, len(d.Messages), maxDigested)
					digest := DigestOf(contents, rules.MaxChars)
					require.LessOrEqual(t, jsonCharsOf(t, digest), rules.MaxChars)
					require.Equal(t, jsonCharsOf(t, digest), Characters(digest))
				} else {
					require.LessOrEqual(t, len(d.Messages), maxComposed)
				}
			}
		}
		var waits []Message // as the database keeps it
		for _, e := range entries {
			byPlace[[2]int64{e.IntentNo, e.Position}] = e
			open := Open(rules, waits)
			for next := open.Next(); !next.IsZero() && !next.After(e.Message.CreatedAt); next = open.Next() {
				deliver(open.Release(next), next)
			}
			deliver(open.Put(e, e.Message.CreatedAt), e.Message.CreatedAt)
			waits = open.Waiting()
		}
		open := Open(rules, waits)
		for next := open.Next(); !next.IsZero(); next = open.Next() {
			out := open.Release(next)
			require.NotEmpty(t, out)
			deliver(out, next)
		}
		require.Len(t, deliveredAt, len(entries))
		for _, e := range entries {
			place := [2]int64{e.IntentNo, e.Position}
			waited := deliveredAt[place].Sub(e.Message.CreatedAt)
			switch {
			case mustAnswer(e):
				require.False(t, digestedOnes[place])
				require.LessOrEqual(t, waited, Longest)
				if e.Attention.Injection == openintentv1.Injection_INJECTION_IMMEDIATE || rules.Silence == 0 {
					require.Zero(t, waited)
				}
			case e.Attention == nil:
				require.Zero(t, waited)
			default:
				require.LessOrEqual(t, waited, max(Longest, rules.Digest))
			}
		}
	})
}

// jsonCharsOf returns how many characters a digest has in the JSON of the contract.
func jsonCharsOf(t require.TestingT, d *openintentv1.Digest) int {
	type object = map[string]any
	counts, subjects, spans := []object{}, []object{}, []object{}
	for _, c := range d.GetCounts() {
		counts = append(counts, object{
			"channel_id": c.GetChannelId(), "channel_name": c.GetChannelName(), "sender": c.GetSender(), "kind": c.GetKind(), "count": c.GetCount(),
		})
	}
	for _, s := range d.GetSubjects() {
		subjects = append(subjects, object{"message_id": s.GetMessageId(), "subject": s.GetSubject()})
	}
	for _, s := range d.GetSpans() {
		spans = append(spans, object{"intent_id": s.GetIntentId(), "first_position": s.GetFirstPosition(), "last_position": s.GetLastPosition()})
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	require.NoError(t, encoder.Encode(object{
		"message_count": d.GetMessageCount(), "counts": counts, "subjects": subjects, "spans": spans, "left_out_count": d.GetLeftOutCount(),
	}))
	return len([]rune(text.String())) - 1 // without the line's end
}

// A sender that writes many kinds does not push others' messages out of a digest.
func TestNobodyHidesOthersInADigest(t *testing.T) {
	var entries []Entry
	for i := range 200 {
		said := &message.Conversation{Kind: fmt.Sprintf("kind %d", i)}
		entries = append(entries, Entry{IntentID: "i", Position: int64(i), Message: &message.Message{Sender: "ann", Conversation: said}})
	}
	entries = append(entries, Entry{IntentID: "i", Position: 200, Message: &message.Message{Sender: "zoe"}})
	digest := DigestOf(entries, MaxChars)
	require.NotZero(t, digest.GetLeftOutCount())
	require.True(t, slices.ContainsFunc(digest.GetCounts(), func(c *openintentv1.DigestCount) bool { return c.GetSender() == "zoe" }))
}

// A window of before the clock was set back does not last longer than others.
func TestWindowsEndAlthoughTheClockIsSetBack(t *testing.T) {
	now := time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)
	rules := Rules{Silence: Silence, Longest: Longest, Digest: time.Minute, MaxChars: MaxChars}
	rows := []Message{{IntentNo: 1, Position: 1, Sender: "ann", SentAt: now}, {IntentNo: 1, Position: 2, Digest: true, SentAt: now}}
	require.Empty(t, Open(rules, rows).Release(now))
	require.Len(t, Open(rules, rows).Release(now.Add(-time.Hour)), 2)
	require.Len(t, Open(rules, rows).Release(now.Add(Silence)), 1)
	require.False(t, slices.ContainsFunc(Open(rules, rows).Release(now.Add(Silence)), func(d Group) bool { return d.Digest }))
}

// said returns a message of a sender in a channel of an intent, at a time. What it asks is in its injection.
func said(intentNo, channelNo, position int64, sender string, at time.Time, injection openintentv1.Injection) Entry {
	return Entry{
		IntentNo: intentNo, ChannelNo: channelNo, Position: position,
		Message: &message.Message{
			IntentNo: intentNo, ChannelNo: channelNo, Position: position, Sender: sender, CreatedAt: at, Payload: []byte(`{}`),
		},
		Attention: &attention.Judgement{Verdict: attention.Verdict{Injection: injection}},
	}
}

// ambient returns a message that a digest may sum up.
func ambient(position int64, at time.Time) Entry {
	e := said(1, 1, position, "ann", at, openintentv1.Injection_INJECTION_BUFFERED)
	e.Attention.Directedness = openintentv1.Directedness_DIRECTEDNESS_AMBIENT
	return e
}

// placesOf returns the channel and the positions of each group.
func placesOf(groups []Group) (places []string) {
	for _, g := range groups {
		place := fmt.Sprintf("%d/%d:", g.Messages[0].IntentNo, g.Messages[0].ChannelNo)
		for _, m := range g.Messages {
			place += fmt.Sprintf(" %d", m.Position)
		}
		places = append(places, place)
	}
	return places
}

const (
	buffered  = openintentv1.Injection_INJECTION_BUFFERED
	immediate = openintentv1.Injection_INJECTION_IMMEDIATE
)

var nine = time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)

// An urgent message comes after what waits in its own channel and with what its sender wrote there. Other channels, also those with the same
// number in other intents, and the digest go on waiting.
func TestAnUrgentMessageTakesAlongItsChannelAlone(t *testing.T) {
	w := Open(Rules{Silence: Silence, Longest: Longest, Digest: time.Hour, MaxChars: MaxChars}, nil)
	for _, e := range []Entry{
		said(1, 1, 1, "ann", nine, buffered), said(1, 1, 2, "cid", nine, buffered), said(1, 2, 3, "ann", nine, buffered),
		said(2, 1, 1, "ann", nine, buffered), ambient(4, nine),
	} {
		require.Empty(t, w.Put(e, nine))
	}
	require.Equal(t, []string{"1/1: 2", "1/1: 1 5"}, placesOf(w.Put(said(1, 1, 5, "ann", nine, immediate), nine)))
	require.Equal(t, []string{"1/2: 3", "2/1: 1", "1/1: 4"}, placesOf(w.ReleaseAll()))
}

// What a sender writes in a thread waits apart from what it writes in the channel.
func TestThreadsWaitApart(t *testing.T) {
	w := Open(Rules{Silence: Silence, Longest: Longest}, nil)
	reply := said(1, 1, 2, "ann", nine, buffered)
	reply.Message.CorrelationPosition = 1
	for _, e := range []Entry{said(1, 1, 1, "ann", nine, buffered), reply, said(1, 1, 3, "ann", nine, buffered)} {
		require.Empty(t, w.Put(e, nine))
	}
	require.Equal(t, []string{"1/1: 1 3", "1/1: 2"}, placesOf(w.ReleaseAll()))
}

// Deliveries are full at their bounds, and what comes then begins the next one.
func TestDeliveriesAreBounded(t *testing.T) {
	rules := Rules{Silence: Silence, Longest: Longest, Digest: time.Hour, MaxChars: MaxChars}
	sized := func(position int64, bytes int) Entry {
		e := said(1, 1, position, "ann", nine, buffered)
		e.Message.Payload = make([]byte, bytes)
		return e
	}
	for name, row := range map[string]struct {
		fit  []Entry
		more Entry
	}{
		"messages": {func() (fit []Entry) {
			for i := range int64(maxComposed) {
				fit = append(fit, said(1, 1, i+1, "ann", nine, buffered))
			}
			return fit
		}(), said(1, 1, maxComposed+1, "ann", nine, buffered)},
		"bytes": {[]Entry{sized(1, 1), sized(2, maxComposedBytes-1)}, sized(3, 1)},
		"a digest": {func() (fit []Entry) {
			for i := range int64(maxDigested) {
				fit = append(fit, ambient(i+1, nine))
			}
			return fit
		}(), ambient(maxDigested+1, nine)},
	} {
		t.Run(name, func(t *testing.T) {
			w := Open(rules, nil)
			for _, e := range row.fit {
				require.Empty(t, w.Put(e, nine))
			}
			out := w.Put(row.more, nine)
			require.Len(t, out, 1)
			require.Len(t, out[0].Messages, len(row.fit))
			require.Len(t, w.Waiting(), 1)
		})
	}
}

// Who goes on writing keeps back nothing for longer than the longest time.
func TestNothingWaitsLongerThanTheLongestTime(t *testing.T) {
	w := Open(Rules{Silence: Longest / 4, Longest: Longest}, nil)
	for i := range int64(8) {
		at := nine.Add(time.Duration(i) * Longest / 8)
		require.Empty(t, w.Put(said(1, 1, i+1, "ann", at, buffered), at))
	}
	require.Empty(t, w.Release(nine.Add(Longest-time.Nanosecond)))
	require.Len(t, w.Release(nine.Add(Longest)), 1)
}

// A message that must be answered once the claims of others have ended is in no digest.
func TestWhatOthersHaveClaimedIsInNoDigest(t *testing.T) {
	rules := Rules{Digest: time.Hour, MaxChars: MaxChars}
	m := &message.Message{
		IntentNo: 1, ChannelNo: 1, Position: 1, Sender: "ann", Target: "role:r", Type: message.TypeRequest, Open: true, CreatedAt: nine,
		Conversation: &message.Conversation{
			Directedness: openintentv1.Directedness_DIRECTEDNESS_AMBIENT, Mentions: []string{"bob"},
		},
	}
	facts := attention.Facts{Agent: "bob", Relation: attention.RelationOf(m, message.Viewer{Agent: "bob"}), ChannelName: "talk"}
	facts.Claims = attention.Claims{{Holder: "cid", Fence: 1, ExpiresAt: nine.Add(time.Minute)}}
	e := Entry{IntentNo: 1, ChannelNo: 1, Position: 1, Message: m, Attention: attention.Judge(m, facts, nine)}
	require.Equal(t, openintentv1.Directedness_DIRECTEDNESS_AMBIENT, e.Attention.Directedness)
	require.Equal(t, openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_RESPOND, e.Attention.Unclaimed().Policy)
	require.Equal(t, []Group{{Messages: []Message{{IntentNo: 1, Position: 1, ChannelNo: 1}}}}, Open(rules, nil).Put(e, nine))
	require.True(t, e.TooImportant())
}

// The clocks of two replicas may differ a little, and that ends no window.
func TestAWindowIsAstrayOnlyBeyondTheSkewOfClocks(t *testing.T) {
	rules := Rules{Silence: Longest, Longest: Longest, Digest: time.Minute, MaxChars: MaxChars}
	for _, digest := range []bool{false, true} {
		waits := func() *Windows {
			return Open(rules, []Message{{IntentNo: 1, Position: 1, Sender: "ann", Digest: digest, SentAt: nine}})
		}
		require.Empty(t, waits().Release(nine.Add(-clockSkew)))
		require.Len(t, waits().Release(nine.Add(-clockSkew-1)), 1)
	}
}

// A window ends by the first and the last of its messages, in whichever order they were gathered.
func TestAWindowEndsByTheTimesOfItsMessages(t *testing.T) {
	w := &Windows{rules: Rules{Silence: 3 * time.Second, Longest: 5 * time.Second, Digest: time.Minute}}
	at := func(seconds ...int) (messages []Message) {
		for _, s := range seconds {
			messages = append(messages, Message{SentAt: nine.Add(time.Duration(s) * time.Second)})
		}
		return messages
	}
	require.Equal(t, nine.Add(4*time.Second), w.ends(Group{Messages: at(1, 0, 1)}))
	require.Equal(t, nine.Add(5*time.Second), w.ends(Group{Messages: at(4, 0, 2)}))
	require.Equal(t, nine.Add(time.Minute), w.ends(Group{Messages: at(7, 0, 9), Digest: true}))
}

// Withdraw takes one message out of the digest, and the window ends with its last message.
func TestAMessageIsWithdrawnFromTheDigestAlone(t *testing.T) {
	rules := Rules{Silence: Silence, Longest: Longest, Digest: time.Hour, MaxChars: MaxChars}
	digest := func(intentNo, position int64) Message {
		return Message{IntentNo: intentNo, Position: position, Digest: true, SentAt: nine}
	}
	w := Open(rules, nil)
	require.False(t, w.Withdraw(1, 1), "nothing waits")
	w = Open(rules, []Message{{IntentNo: 1, Position: 9, Sender: "ann", SentAt: nine}})
	require.False(t, w.Withdraw(1, 9), "it waits for its sender")
	w = Open(rules, []Message{digest(1, 1), digest(2, 1), digest(1, 2)})
	require.False(t, w.Withdraw(2, 2))
	require.True(t, w.Withdraw(1, 1))
	require.False(t, w.Withdraw(1, 1))
	require.Equal(t, []string{"1/0: 2 1"}, placesOf(slices.Clone(w.open)))
	require.True(t, w.Withdraw(1, 2))
	require.True(t, w.Withdraw(2, 1))
	require.True(t, w.Next().IsZero(), "no window is left")
}

// A digest covers as many intents as its characters allow.
func TestADigestOfTooManyIntentsIsFull(t *testing.T) {
	w := Open(Rules{Digest: time.Hour, MaxChars: 880}, nil)
	of := func(intentNo int64) Entry {
		e := ambient(1, nine)
		e.IntentNo = intentNo
		return e
	}
	require.Empty(t, w.Put(of(1), nine))
	require.Empty(t, w.Put(of(2), nine))
	again := of(2)
	again.Position = 2
	require.Empty(t, w.Put(again, nine))
	require.Len(t, w.Put(of(3), nine), 1)
	require.Len(t, w.Waiting(), 1)
}

// What only joins is delivered at once unless its sender has something waiting in the same conversation.
func TestWhatJoinsWaitsOnlyWithOthers(t *testing.T) {
	const mailbox = openintentv1.Injection_INJECTION_TOOL_MAILBOX
	w := Open(Rules{Silence: Silence, Longest: Longest}, nil)
	require.Equal(t, []string{"1/1: 1"}, placesOf(w.Put(said(1, 1, 1, "ann", nine, mailbox), nine)))
	require.Empty(t, w.Put(said(1, 1, 2, "ann", nine, buffered), nine))
	require.Empty(t, w.Put(said(1, 1, 3, "ann", nine, mailbox), nine))
	require.Equal(t, []string{"1/1: 4"}, placesOf(w.Put(said(1, 1, 4, "cid", nine, mailbox), nine)))
	require.Equal(t, []string{"1/1: 2 3"}, placesOf(w.ReleaseAll()))
}

// An urgent message that no longer fits into what its sender wrote comes after it.
func TestAnUrgentMessageComesAfterAFullWindow(t *testing.T) {
	w := Open(Rules{Silence: Silence, Longest: Longest}, nil)
	for i := range int64(maxComposed) {
		require.Empty(t, w.Put(said(1, 1, i+1, "ann", nine, buffered), nine))
	}
	require.Equal(t, []string{"1/1: 1 2 3 4 5 6 7 8 9 10", "1/1: 11"}, placesOf(w.Put(said(1, 1, 11, "ann", nine, immediate), nine)))
	require.Empty(t, w.Waiting())
}

// The next end is that of the window that ends first, whichever began first.
func TestTheNextEndIsTheEarliest(t *testing.T) {
	rules := Rules{Silence: Silence, Longest: Longest, Digest: time.Minute, MaxChars: MaxChars}
	w := Open(rules, []Message{
		{IntentNo: 1, Position: 1, Digest: true, SentAt: nine}, {IntentNo: 1, Position: 2, Sender: "ann", SentAt: nine},
		{IntentNo: 1, Position: 3, Sender: "cid", SentAt: nine.Add(time.Second)},
	})
	require.Equal(t, nine.Add(Silence), w.Next())
}
