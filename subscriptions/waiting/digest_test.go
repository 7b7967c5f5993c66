package waiting

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging/attention"
	"openintent/messaging/message"
)

// What a digest says of intents takes at most half of its characters, and it covers one intent however short it is.
func TestADigestCoversAsManyIntentsAsHalfOfItHolds(t *testing.T) {
	for chars, most := range map[int]int{0: 1, 500: 1, 879: 1, 880: 2, 1199: 2, 1200: 3, MaxChars: 5} {
		require.Equal(t, most, maxDigestIntents(chars), chars)
	}
}

// noted returns what ann wrote in a channel of an intent.
func noted(intent string, position int64, id, kind, subject string) Entry {
	m := &message.Message{ID: id, Sender: "ann", Position: position}
	if kind != "" || subject != "" {
		m.Conversation = &message.Conversation{Kind: kind, Subject: subject}
	}
	return Entry{IntentID: intent, ChannelID: "c", ChannelName: "talk", Position: position, Message: m}
}

func TestADigestCountsAndQuotesWhatFits(t *testing.T) {
	long := strings.Repeat("long ", 20) // no subject fits where a count does not
	entries := []Entry{noted("i", 7, "m1", "", "old"+long), noted("j", 2, "m2", "", "newer"+long), noted("i", 3, "m3", "", ""), noted("i", 9, "m4", "k", "")}
	spans := []*openintentv1.DigestSpan{{IntentId: "i", FirstPosition: 3, LastPosition: 9}, {IntentId: "j", FirstPosition: 2, LastPosition: 2}}
	three := &openintentv1.DigestCount{ChannelId: "c", ChannelName: "talk", Sender: "ann", Count: 3}
	one := &openintentv1.DigestCount{ChannelId: "c", ChannelName: "talk", Sender: "ann", Kind: "k", Count: 1}
	older := &openintentv1.DigestSubject{MessageId: "m1", Subject: "old" + long}
	newer := &openintentv1.DigestSubject{MessageId: "m2", Subject: "newer" + long}
	both, quoted := []*openintentv1.DigestCount{three, one}, []*openintentv1.DigestSubject{newer, older}
	const fixed = digestFrame + 2*spanChars
	var (
		first  = countChars + charsOf("c", "talk", "ann", "")
		counts = first + countChars + charsOf("c", "talk", "ann", "k")
		quote  = subjectChars + charsOf("m2", "newer"+long)
		quotes = quote + subjectChars + charsOf("m1", "old"+long)
	)
	for name, row := range map[string]struct {
		chars int
		d     *openintentv1.Digest
	}{
		"nothing":               {0, &openintentv1.Digest{LeftOutCount: 4}},
		"not one count":         {fixed + first - 1, &openintentv1.Digest{LeftOutCount: 4}},
		"one count":             {fixed + first, &openintentv1.Digest{Counts: both[:1], LeftOutCount: 1}},
		"not another one":       {fixed + counts - 1, &openintentv1.Digest{Counts: both[:1], LeftOutCount: 1}},
		"all counts":            {fixed + counts, &openintentv1.Digest{Counts: both}},
		"not one subject":       {fixed + counts + quote - 1, &openintentv1.Digest{Counts: both}},
		"the newest subject":    {fixed + counts + quote, &openintentv1.Digest{Counts: both, Subjects: quoted[:1]}},
		"not the older subject": {fixed + counts + quotes - 1, &openintentv1.Digest{Counts: both, Subjects: quoted[:1]}},
		"everything":            {fixed + counts + quotes, &openintentv1.Digest{Counts: both, Subjects: quoted}},
	} {
		row.d.MessageCount, row.d.Spans = 4, spans
		d := DigestOf(entries, row.chars)
		require.True(t, proto.Equal(row.d, d), "%s: %v", name, d)
	}
}

// A digest's characters are those of its JSON, also if it lists nothing or one of each.
func TestADigestsCharactersAreThoseOfItsJSON(t *testing.T) {
	entries := []Entry{noted("i", 1, "m1", "k", "a \"subject\"")}
	for _, d := range []*openintentv1.Digest{{}, DigestOf(entries, MaxChars), DigestOf(append(entries, noted("j", 2, "m2", "", "ö")), MaxChars)} {
		require.Equal(t, jsonCharsOf(t, d), Characters(d))
	}
}

func TestADigestAsksOnlyThoseWhomItMentions(t *testing.T) {
	mentioning := noted("i", 1, "m1", "k", "")
	mentioning.Message.Conversation.Mentions = []string{"bob"}
	entries := []Entry{noted("i", 2, "m2", "", ""), mentioning, noted("i", 3, "m3", "k", "")}
	asks := AttentionOfDigest(entries, "bob")
	require.Equal(t, openintentv1.ResponsePolicy_RESPONSE_POLICY_MAY_RESPOND, asks.GetPolicy())
	require.Equal(t, "mention", asks.GetReason())
	asks = AttentionOfDigest(entries, "cid")
	require.Equal(t, openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_NOT_RESPOND, asks.GetPolicy())
	require.Equal(t, "ambient", asks.GetReason())
}

// What becomes of a message follows from what it asks and from what a subscription lets wait.
func TestHowAnEntryIsTreated(t *testing.T) {
	const (
		ambiently = openintentv1.Directedness_DIRECTEDNESS_AMBIENT
		addressed = openintentv1.Directedness_DIRECTEDNESS_TO_ME
		must      = openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_RESPOND
		may       = openintentv1.ResponsePolicy_RESPONSE_POLICY_MAY_RESPOND
		mailbox   = openintentv1.Injection_INJECTION_TOOL_MAILBOX
	)
	all, silence, digests := Rules{Silence: Silence, Digest: 1}, Rules{Silence: Silence}, Rules{Digest: 1}
	asks := func(directedness openintentv1.Directedness, policy openintentv1.ResponsePolicy, injection openintentv1.Injection) Entry {
		return Entry{Message: new(message.Message), Attention: &attention.Judgement{
			Verdict: attention.Verdict{Directedness: directedness, Policy: policy, Injection: injection},
		}}
	}
	owed, returned := asks(ambiently, may, buffered), asks(ambiently, may, buffered)
	owed.Message.Conversation = &message.Conversation{Obligation: new(message.Obligation)}
	returned.Message.Conversation = &message.Conversation{Return: new(message.Return)}
	plain := asks(ambiently, may, buffered)
	plain.Message.Conversation = &message.Conversation{Kind: "k"}
	for name, row := range map[string]struct {
		rules Rules
		entry Entry
		how   treatment
	}{
		"no message":                 {all, Entry{}, apart},
		"what asks nothing":          {all, Entry{Message: new(message.Message)}, apart},
		"ambient":                    {all, asks(ambiently, may, buffered), digested},
		"ambient, with a kind":       {all, plain, digested},
		"ambient and urgent":         {all, asks(ambiently, may, immediate), digested},
		"ambient without digests":    {silence, asks(ambiently, may, buffered), composed},
		"ambient, to be answered":    {all, asks(ambiently, must, buffered), composed},
		"ambient, with obligation":   {all, owed, composed},
		"a reminder":                 {all, returned, composed},
		"addressed":                  {all, asks(addressed, may, buffered), composed},
		"addressed without silence":  {digests, asks(addressed, may, buffered), apart},
		"urgent":                     {all, asks(addressed, must, immediate), urgent},
		"urgent without silence":     {digests, asks(addressed, must, immediate), apart},
		"what is for looking it up":  {all, asks(addressed, may, mailbox), joining},
		"ambient in a digest alone":  {digests, asks(ambiently, may, buffered), digested},
		"answered in a digest alone": {digests, asks(ambiently, must, buffered), apart},
	} {
		require.Equal(t, row.how, row.rules.treatmentOf(row.entry), name)
		important := row.entry.Attention != nil && !digestible(row.entry)
		require.Equal(t, important, row.entry.TooImportant(), name)
	}
	require.False(t, plain.TooImportant())
	require.True(t, owed.TooImportant())
}
