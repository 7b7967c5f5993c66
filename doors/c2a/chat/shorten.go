package chat

import (
	"openintent/doors"
	"openintent/internal/fault"
)

const (
	// contentShown is how many bytes of an event's content a tool shows unless its caller asks for more.
	contentShown = 4 << 10
	// mostShown is how many bytes of contents an answer shows altogether, and leastShown what of one event is shown in any case.
	mostShown, leastShown = 256 << 10, 200
)

// textLimit is the argument by which a caller asks for more or less of each event's content.
const textLimit = `"maxBytes":{"type":"integer","minimum":200,"maximum":262144,"description":"of each content"}`

// shortened says how much of each event's content is shown.
type shortened struct {
	MaxBytes *int32 `json:"maxBytes"`
}

// room returns how many bytes of content each of so many events has in an answer.
func (s shortened) room(events int) (int, error) {
	room := contentShown
	if s.MaxBytes != nil {
		if room = int(*s.MaxBytes); room < leastShown || room > mostShown {
			return 0, fault.BadField("maxBytes", "must be from %d to %d.", leastShown, mostShown)
		}
	}
	return max(leastShown, min(room, mostShown/max(1, events))), nil
}

// shownEvent is an event as a tool shows it.
type shownEvent struct {
	Event
	// CutFromBytes is how many bytes the content has, if only its beginning is shown.
	CutFromBytes int `json:"cutFromBytes,omitempty"`
	// DeletedAt is set for an event whose content was deleted.
	DeletedAt string `json:"deletedAt,omitempty"`
}

// shown returns a message as an event with at most so many bytes of content.
func shown(agent string, e Entry, room int) shownEvent {
	event := EventOf(agent, e)
	whole := 0
	for _, part := range event.Content {
		whole += part.size()
	}
	answer := shownEvent{Event: event, DeletedAt: moment(e.Message.GetDeletedAt())}
	if whole <= room {
		return answer
	}
	answer.CutFromBytes, answer.Content = whole, nil
	for _, part := range event.Content {
		cut := part.cut(room)
		answer.Content = append(answer.Content, cut)
		if room -= cut.size(); room <= 0 {
			break
		}
	}
	return answer
}

func (p Part) size() int {
	if p.Text != nil {
		return len(*p.Text)
	}
	return len(p.Data)
}

// cut returns the beginning of a part. Of data that does not fit, the beginning of its JSON is shown as a text.
func (p Part) cut(room int) Part {
	switch {
	case p.size() <= room:
		return p
	case p.Text != nil:
		return TextPart(doors.Beginning(*p.Text, room))
	}
	return TextPart(doors.Beginning(string(p.Data), room))
}
