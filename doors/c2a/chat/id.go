package chat

import (
	"strconv"
	"strings"
)

// An event's id is its message's. An edit makes a further event, with the revision after a point; something that others did to a message
// makes one with its place in the log after an at sign. No message's id has either character.
const (
	beforeRevision = "."
	beforePosition = "@"
)

// EditID is the id of the event that an edit of a message makes.
func EditID(message string, revision int32) string {
	return message + beforeRevision + strconv.Itoa(int(revision))
}

// AnnotationID is the id of the event that something makes that happened to a message.
func AnnotationID(message string, position int64) string {
	return message + beforePosition + strconv.FormatInt(position, 10)
}

// MessageOf returns the message to which an event belongs.
func MessageOf(event string) string {
	if end := strings.IndexAny(event, beforeRevision+beforePosition); end >= 0 {
		return event[:end]
	}
	return event
}
