package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"time"
)

// task is a wait that a client comes back for. Its id says all of it, and no server keeps it: whoever has an id asks the contract for
// what it names, in the own name. So it does no harm that anybody can make one up.
type task struct {
	awaited
	// Agent is whose task it is.
	Agent string `json:"by"`
	// From and Until are when the wait began and when it ends, in milliseconds.
	From  int64 `json:"f"`
	Until int64 `json:"u"`
}

// longestID is how long an id can be. The longest part of it is the agent's name, which has 256 characters at most.
const longestID = 4096

// id returns the task's id, which can stand in a header.
func (t task) id() string {
	text, err := json.Marshal(t)
	if err != nil {
		return "" // no task is like that
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// taskFrom reads an id. It reports false for what is not exactly an id that a server has made.
func taskFrom(id string) (t task, ok bool) {
	if len(id) > longestID {
		return task{}, false
	}
	text, err := base64.RawURLEncoding.Strict().DecodeString(id)
	if err != nil {
		return task{}, false
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if decoder.Decode(&t) != nil || t.id() != id || !t.valid() {
		return task{}, false
	}
	return t, true
}

// valid reports whether a server makes tasks like this.
func (t task) valid() bool {
	lasts := t.Until - t.From
	if t.From < 0 || lasts < 0 || lasts > int64(longestTimeout*time.Second/time.Millisecond) {
		return false
	}
	if t.All && t.Subject != anInbox {
		return false
	}
	switch t.Subject {
	case anAnswer, moreAnswers:
		return t.After == nil && t.Enough >= 1 && t.Enough <= mostAnswers && t.Seen >= 0 && t.Seen <= mostAnswers
	case anInbox:
		return t.After == nil
	case aChannel, aThread:
		return t.After != nil && *t.After >= 0
	}
	return false
}
