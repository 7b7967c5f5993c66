package attention

import (
	"encoding/json"
	"strings"
	"unicode"

	"openintent/messaging/message"
)

// kindAcknowledgement marks a message as nothing but an acknowledgement.
const kindAcknowledgement = "ack"

// longestAcknowledgement bounds the texts that are looked at, in bytes. Whoever writes more says more than thanks.
const longestAcknowledgement = 80

// pleasantries are the texts that say thanks or assent and nothing else, without capitals and punctuation.
var pleasantries = wordSet(
	"ok", "okay", "k", "ack", "acked", "acknowledged", "copy", "copy that", "roger", "roger that", "noted", "understood", "got it",
	"will do", "on it", "sure", "sure thing", "yes", "yep", "yeah", "agreed", "sounds good", "looks good", "lgtm", "great", "perfect",
	"nice", "cool", "awesome", "fine", "good", "all good", "no problem", "no worries", "you're welcome", "you are welcome",
	"welcome", "my pleasure", "cheers", "thanks", "thank you", "thanks a lot", "thanks so much", "thank you so much",
	"thank you very much", "many thanks", "much appreciated", "appreciated", "thx", "ty",
)

func wordSet(texts ...string) map[string]struct{} {
	set := make(map[string]struct{}, len(texts))
	for _, text := range texts {
		set[text] = struct{}{}
	}
	return set
}

// isAcknowledgement reports whether a message is nothing but an acknowledgement: by its kind, or by its only text.
func isAcknowledgement(m *message.Message) bool {
	return m.Conversation != nil && m.Conversation.Kind == kindAcknowledgement || onlyPleasantries(soleText(m.Payload))
}

// soleText returns the text of a payload that has one of the members text, content or question, and no other member.
func soleText(payload []byte) string {
	if len(payload) > 2*longestAcknowledgement {
		return ""
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(payload, &members) != nil || len(members) != 1 {
		return ""
	}
	for _, name := range []string{"text", "content", "question"} {
		var text string
		if json.Unmarshal(members[name], &text) == nil {
			return text
		}
	}
	return ""
}

// onlyPleasantries reports whether a text has at least one sentence and each of its sentences is a pleasantry. A question is none.
func onlyPleasantries(text string) bool {
	if len(text) > longestAcknowledgement || strings.ContainsRune(text, '?') {
		return false
	}
	found := false
	for sentence := range strings.FieldsFuncSeq(strings.ToLower(text), endsSentence) {
		words := strings.Join(strings.FieldsFunc(sentence, isDecoration), " ")
		if words == "" {
			continue
		}
		if _, found = pleasantries[words]; !found {
			return false
		}
	}
	return found
}

func endsSentence(r rune) bool { return strings.ContainsRune(".,!;:\n—–", r) }

// isDecoration reports whether a character is neither part of a word nor the end of a sentence: a space, an emoji, a bracket.
func isDecoration(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) && r != '\'' }
