package message

import (
	"regexp"

	"github.com/oklog/ulid/v2"
)

// idPrefix begins every message id; a ULID follows.
const idPrefix = "msg_"

// NewID makes a message id.
func NewID() string { return idPrefix + ulid.Make().String() }

// messageIDForm is what the server's message ids look like.
var messageIDForm = regexp.MustCompile(`^msg_[0-9A-HJKMNP-TV-Z]{26}$`)

// IsID reports whether a text has the form of a message id. Whatever has another form names no message.
func IsID(text string) bool { return messageIDForm.MatchString(text) }
