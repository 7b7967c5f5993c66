package waiting

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging/message"
)

const (
	// digestFrame and spanChars are how many characters the JSON of a digest has at most beside what it lists, and for each intent.
	digestFrame = 120
	spanChars   = 160
	// countChars and subjectChars are how many characters the JSON of a count and of a subject has at most beside its texts.
	countChars   = 80
	subjectChars = 32
)

// maxDigestIntents returns how many intents one digest may cover. What it says of them takes at most half of its characters.
func maxDigestIntents(maxChars int) int {
	return max(1, (maxChars/2-digestFrame)/spanChars)
}

// DigestOf sums up messages in at most maxChars characters of JSON. Counts come before subjects, so that long
// subjects hide nobody's messages.
func DigestOf(entries []Entry, maxChars int) *openintentv1.Digest {
	d := &openintentv1.Digest{MessageCount: int32(len(entries)), Spans: spansOf(entries)}
	left := maxChars - digestFrame - spanChars*len(d.Spans)
	counts := countsOf(entries)
	spent := 0
	for _, count := range counts {
		chars := countChars + charsOf(count.GetChannelId(), count.GetChannelName(), count.GetSender(), count.GetKind())
		if spent+chars > left {
			d.LeftOutCount += count.GetCount()
			continue
		}
		spent += chars
		d.Counts = append(d.Counts, count)
	}
	left -= spent
	for _, entry := range slices.Backward(entries) {
		said := entry.Message.Conversation
		if said == nil || said.Subject == "" {
			continue
		}
		chars := subjectChars + charsOf(entry.Message.ID, said.Subject)
		if chars > left {
			break
		}
		left -= chars
		d.Subjects = append(d.Subjects, &openintentv1.DigestSubject{MessageId: entry.Message.ID, Subject: said.Subject})
	}
	return d
}

// Characters returns how many characters a digest has in the JSON of the contract.
func Characters(d *openintentv1.Digest) int {
	chars := frame(`{"message_count":,"counts":[],"subjects":[],"spans":[],"left_out_count":}`, int64(d.GetMessageCount()), int64(d.GetLeftOutCount()))
	for _, c := range d.GetCounts() {
		chars += frame(`{"channel_id":,"channel_name":,"sender":,"kind":,"count":},`, int64(c.GetCount())) +
			charsOf(c.GetChannelId(), c.GetChannelName(), c.GetSender(), c.GetKind())
	}
	for _, s := range d.GetSubjects() {
		chars += frame(`{"message_id":,"subject":},`) + charsOf(s.GetMessageId(), s.GetSubject())
	}
	for _, s := range d.GetSpans() {
		chars += frame(`{"intent_id":,"first_position":,"last_position":},`, s.GetFirstPosition(), s.GetLastPosition()) + charsOf(s.GetIntentId())
	}
	for _, listed := range []int{len(d.GetCounts()), len(d.GetSubjects()), len(d.GetSpans())} {
		chars -= min(listed, 1) // nothing follows on the last
	}
	return chars
}

// frame returns how many characters names and numbers have together.
func frame(names string, numbers ...int64) int {
	chars := len(names)
	for _, n := range numbers {
		chars += len(strconv.FormatInt(n, 10))
	}
	return chars
}

// charsOf returns how many characters texts have as strings of JSON.
func charsOf(texts ...string) (chars int) {
	for _, text := range texts {
		var encoded bytes.Buffer
		encoder := json.NewEncoder(&encoded)
		encoder.SetEscapeHTML(false)
		if encoder.Encode(text) != nil { // no text fails
			continue
		}
		chars += utf8.RuneCount(encoded.Bytes()) - 1 // without the line's end
	}
	return chars
}

// countsOf counts messages by channel, sender and kind. Each sender's highest count comes first, then each one's second, and so on, so that
// nobody hides others' messages by writing many kinds.
func countsOf(entries []Entry) []*openintentv1.DigestCount {
	type group struct{ channelID, channelName, sender, kind string }
	counts := make(map[group]int32)
	for _, entry := range entries {
		counts[group{entry.ChannelID, entry.ChannelName, entry.Message.Sender, kindOf(entry.Message)}]++
	}
	ordered := slices.SortedFunc(maps.Keys(counts), func(a, b group) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a.channelName, b.channelName), cmp.Compare(a.channelID, b.channelID),
			cmp.Compare(a.sender, b.sender), cmp.Compare(a.kind, b.kind))
	})
	rank, written := make(map[group]int, len(ordered)), make(map[string]int)
	for _, g := range ordered {
		rank[g] = written[g.sender]
		written[g.sender]++
	}
	slices.SortStableFunc(ordered, func(a, b group) int { return cmp.Compare(rank[a], rank[b]) })
	wire := make([]*openintentv1.DigestCount, len(ordered))
	for i, g := range ordered {
		wire[i] = &openintentv1.DigestCount{
			ChannelId: g.channelID, ChannelName: g.channelName, Sender: g.sender, Kind: g.kind, Count: counts[g],
		}
	}
	return wire
}

func kindOf(m *message.Message) string {
	if m.Conversation == nil {
		return ""
	}
	return m.Conversation.Kind
}

// spansOf returns where messages are, for each intent in the order in which it first appears.
func spansOf(entries []Entry) (spans []*openintentv1.DigestSpan) {
	byIntent := make(map[string]*openintentv1.DigestSpan)
	for _, entry := range entries {
		span := byIntent[entry.IntentID]
		if span == nil {
			span = &openintentv1.DigestSpan{IntentId: entry.IntentID, FirstPosition: entry.Position}
			byIntent[entry.IntentID], spans = span, append(spans, span)
		}
		span.FirstPosition, span.LastPosition = min(span.FirstPosition, entry.Position), max(span.LastPosition, entry.Position)
	}
	return spans
}

// AttentionOfDigest says what a digest asks of an agent: nothing, unless one of its messages mentions the agent.
func AttentionOfDigest(entries []Entry, agent string) *openintentv1.Attention {
	asks := &openintentv1.Attention{
		Directedness: openintentv1.Directedness_DIRECTEDNESS_AMBIENT,
		Policy:       openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_NOT_RESPOND,
		Injection:    openintentv1.Injection_INJECTION_DIGEST,
		Reason:       "ambient",
		Priority:     message.PriorityNormal.ToWire(),
	}
	for _, entry := range entries {
		if said := entry.Message.Conversation; said != nil && slices.Contains(said.Mentions, agent) {
			asks.Policy, asks.Reason = openintentv1.ResponsePolicy_RESPONSE_POLICY_MAY_RESPOND, "mention"
		}
	}
	return asks
}
