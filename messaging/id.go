package messaging

import (
	"regexp"

	"github.com/oklog/ulid/v2"
)

// idPrefix begins every message id; a ULID follows.
const idPrefix = "msg_"

func newMessageID() string { return idPrefix + ulid.Make().String() }

// messageIDForm is what the server's message ids look like.
var messageIDForm = regexp.MustCompile(`^msg_[0-9A-HJKMNP-TV-Z]{26}$`)

// isMessageID tells whether a text has the form of a message id. Whatever has another form names no message.
func isMessageID(text string) bool { return messageIDForm.MatchString(text) }
