// Package story has the form of stories. A story is a conversation from the record: `openintent export INTENT --story` writes one, and package
// openintenttest plays it. It is a text of JSON objects, each on a line of its own: first where the messages were sent and who took part, and
// then one for each message.
package story

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// Version is the form that this package reads and writes. Another form has another number.
const Version = 1

// longest is how many bytes a line may have: more than any message.
const longest = 16 << 20

// Story is a conversation.
type Story struct {
	// Story is the form that was read.
	Story int    `json:"story"`
	Title string `json:"title"`
	// BeganAt is when the first message was sent. It is zero if the story does not say it.
	BeganAt  time.Time `json:"began_at,omitzero"`
	Channels []Channel `json:"channels"`
	Agents   []Agent   `json:"agents"`
	// Lines are the messages, in the order of the log.
	Lines []Line `json:"-"`
}

// Channel is a channel of a story.
type Channel struct {
	Name         string   `json:"name"`
	MemberPolicy string   `json:"member_policy"`
	Members      []string `json:"members,omitempty"`
}

// Agent is an agent that took part, with its role.
type Agent struct {
	ID   string `json:"id"`
	Role string `json:"role,omitempty"`
}

// Line is a message. Its id, and those of the messages that it answers or belongs under, are those of the record. Seconds is how long a
// request could be answered, Woken are the agents that did something with it, and Dispositions say by recipient what became of it.
type Line struct {
	ID           string            `json:"id"`
	AfterSeconds float64           `json:"after_seconds"`
	Channel      string            `json:"channel"`
	Sender       string            `json:"sender"`
	To           string            `json:"to,omitempty"`
	MessageType  string            `json:"message_type"`
	Payload      map[string]any    `json:"payload"`
	Metadata     map[string]any    `json:"metadata,omitempty"`
	Answers      string            `json:"answers,omitempty"`
	Parent       string            `json:"parent,omitempty"`
	Subject      string            `json:"subject,omitempty"`
	Kind         string            `json:"kind,omitempty"`
	Priority     string            `json:"priority,omitempty"`
	Mentions     []string          `json:"mentions,omitempty"`
	Collect      any               `json:"collect,omitempty"`
	Blocks       string            `json:"blocks,omitempty"`
	Seconds      float64           `json:"seconds,omitempty"`
	Woken        []string          `json:"woken,omitempty"`
	Dispositions map[string]string `json:"dispositions,omitempty"`
}

// Read reads a story. Its error says what a story is when the text is none.
func Read(text io.Reader) (*Story, error) {
	told, begins := &Story{}, fmt.Errorf("a story begins with a line that has story: %d; write one with: openintent export INTENT --story", Version)
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, longest)
	for lines.Scan() {
		switch {
		case strings.TrimSpace(lines.Text()) == "":
		case told.Story == 0:
			if err := json.Unmarshal(lines.Bytes(), told); err != nil || told.Story != Version {
				return nil, begins
			}
		default:
			var line Line
			if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
				return nil, fmt.Errorf("message %d of the story: %w", len(told.Lines)+1, err)
			}
			told.Lines = append(told.Lines, line)
		}
	}
	if lines.Err() == nil && told.Story == 0 {
		return nil, begins
	}
	return told, lines.Err()
}

// Write writes a story in the form Version.
func (s *Story) Write(to io.Writer) error {
	encoder := json.NewEncoder(to)
	encoder.SetEscapeHTML(false)
	head := *s
	head.Story = Version
	err := encoder.Encode(head)
	for i := 0; i < len(s.Lines) && err == nil; i++ {
		err = encoder.Encode(s.Lines[i])
	}
	return err
}
