package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"time"
)

// This file has all that this program knows of the inbox of a Claude Code session: a socket on which the session takes lines of JSON, from
// version 2.1.224 on. A connection begins with a line that shows the session's token, and each line after it begins a turn of an idle
// session, or is read between two tool calls. The makers do not document the form of these lines. It is the one that public programs use,
// and was tried against a stand-in alone.

// The variables by which a session tells its hooks and its background commands of its inbox.
const (
	claudeSocket = "CLAUDE_CODE_MESSAGING_SOCKET"
	claudeToken  = "CLAUDE_CODE_MESSAGING_TOKEN"
)

// claudePatience bounds how long one line may take to be posted.
const claudePatience = 10 * time.Second

// claudeInbox is the inbox of the session in which this program runs.
type claudeInbox struct{ socket, token string }

// errNoSession refuses to post from outside a session.
var errNoSession = usagef("--via socket works only in a hook or in a background command of a Claude Code session, which sets " +
	claudeSocket + " and " + claudeToken + "; from outside, a session holds such lines back, so wake it with --exec")

// inboxOfSession returns the inbox of the session in which this program runs, and false outside of one.
func inboxOfSession() (claudeInbox, bool) {
	i := claudeInbox{os.Getenv(claudeSocket), os.Getenv(claudeToken)}
	return i, i.socket != "" && i.token != ""
}

// claudeLine is a line that a session takes.
type claudeLine struct {
	Type    string         `json:"type"`
	Token   string         `json:"token,omitempty"`
	Message *claudeMessage `json:"message,omitempty"`
}

type claudeMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// post posts what waits, as one line that shows ids and nothing that another agent wrote.
func (i claudeInbox) post(ctx context.Context, p pointer) error {
	ctx, cancel := context.WithTimeout(ctx, claudePatience)
	defer cancel()
	connection, err := (&net.Dialer{}).DialContext(ctx, "unix", i.socket)
	if err != nil {
		return fmt.Errorf("the session's inbox cannot be reached; the session may be over: %w", err)
	}
	defer func() { _ = connection.Close() }()
	if deadline, bounded := ctx.Deadline(); bounded {
		_ = connection.SetDeadline(deadline)
	}
	lines := json.NewEncoder(connection)
	for _, line := range []claudeLine{
		{Type: "auth", Token: i.token},
		{Type: "user", Message: &claudeMessage{Role: "user", Content: p.sentence()}},
	} {
		if err := lines.Encode(line); err != nil {
			return fmt.Errorf("the session's inbox takes no line: %w", err)
		}
	}
	return nil
}

// sentence says what waits, for a model.
func (p pointer) sentence() string {
	return fmt.Sprintf("openintent: %d waiting for you; message %s on channel %s is %s. Read it with the tool inbox of openintent, and answer what "+
		"is must_respond.", p.Waiting, p.Message, p.Channel, p.Policy)
}
