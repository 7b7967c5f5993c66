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
