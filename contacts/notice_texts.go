package contacts

import (
	"encoding/json"
	"strings"
	"time"
	"unicode"

	"openintent/messaging"
)

// maxWords is how many characters of a name that others chose are sent at most.
const maxWords = 100

// words are what is sent to a contact, in the forms that the kinds need.
type words struct {
	// Type is code or question.
	Type    string `json:"type"`
	AgentID string `json:"agent_id"`
	Title   string `json:"title"`
	Text    string `json:"text"`
	Code    string `json:"code,omitempty"`
	pointer
	Link string `json:"link,omitempty"`
}

// pointer says where something waits. It is kept with what is to be sent.
type pointer struct {
	MessageID string `json:"message_id,omitempty"`
	From      string `json:"from,omitempty"`
	// Channel and Intent are the names of the channel and the intent; empty if the person may not see them, or if a stranger chose them.
	Channel string `json:"channel,omitempty"`
	Intent  string `json:"intent_title,omitempty"`
	// Since is when it was sent, in RFC 3339.
	Since string `json:"since,omitempty"`
}

// codeWords are the words of a code.
func codeWords(agent, code string) words {
	return words{
		Type: "code", AgentID: agent, Code: code, Title: "Your code for openintent",
		Text: "The code for " + plain(agent) + " is " + code + ". It counts for 15 minutes. If you did not ask for it, ignore it.",
	}
}

// pointerTo returns the pointer to a message.
func pointerTo(m messaging.Pressing) pointer {
	p := pointer{MessageID: m.MessageID, From: m.Sender, Since: m.SentAt.UTC().Format(time.RFC3339)}
	if !m.Stranger {
		p.Channel, p.Intent = plain(m.Channel), plain(m.Title)
	}
	return p
}

// questionWords are the words of a pointer.
func questionWords(agent string, p pointer, address string) words {
	text := plain(p.From) + " waits for an answer of " + plain(agent)
	if p.Channel != "" {
		text += ", in the channel " + p.Channel
	}
	if p.Intent != "" {
		text += " of " + p.Intent
	}
	w := words{Type: "question", AgentID: agent, Title: "A question waits for you", Text: text + ", since " + p.Since + ".", pointer: p}
	if address != "" {
		w.Link = address + "/console/messages/" + p.MessageID
	}
	return w
}

// whole returns the words as JSON.
func (w words) whole() []byte {
	body, _ := json.Marshal(w) // texts alone
	return body
}

// forPush returns what the console's worker shows of a push. The code is also by itself, for a page that waits for it.
func (w words) forPush() []byte {
	said := map[string]string{"title": w.Title, "body": w.Text, "url": w.Link}
	if w.Code != "" {
		said["code"] = w.Code
	}
	body, _ := json.Marshal(said) // texts alone
	return body
}

// lines returns the text with its link.
func (w words) lines() string {
	if w.Link == "" {
		return w.Text
	}
	return w.Text + "\n" + w.Link
}

// forSlack returns the text as Slack takes it, in which three characters have a meaning.
func (w words) forSlack() []byte {
	text := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(w.Text)
	if w.Link != "" {
		text += "\n<" + w.Link + ">"
	}
	body, _ := json.Marshal(map[string]string{"text": text}) // texts alone
	return body
}

// plain returns a name that others chose on one line, and not longer than a line.
func plain(name string) string {
	letters := []rune(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, name))
	if len(letters) > maxWords {
		letters = append(letters[:maxWords-1], '…')
	}
	return strings.TrimSpace(string(letters))
}
