package mcp

import (
	"cmp"
	"context"
	"strconv"
	"unicode/utf8"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
	"openintent/internal/optional"
)

const (
	// wholeRoom is how many bytes of a payload an answer about one message shows, unless its caller asks for more or less, within leastWhole
	// and mostWhole. Harnesses cut the middle out of a longer answer, and a cursor would lead past the gap.
	wholeRoom             = 6 << 10
	leastWhole, mostWhole = 500, 64 << 10
	// mostRead is the most messages that one answer shows.
	mostRead = 100
	// threadMessages is how many messages of a thread an answer holds unless its caller asks for more.
	threadMessages = 5
	// messageRoom is about what a message takes beside its payload, and leastRoom what of its payload is shown in any case.
	messageRoom, leastRoom = 300, 60
	// reactionsShown is how many reactions an answer shows, and noteRoom how many bytes of the note of each.
	reactionsShown = 10
	noteRoom       = 80
)

// read shows a channel's messages, a thread, or one message whole.
var read = newTool(reads, "read", "Read a channel's newest messages, the thread of a message, or one message whole; or find messages by words. "+othersWords,
	`"channel":{"type":"string","description":"id"},"thread":{"type":"string","description":"id"},`+
		`"message":{"type":"string","description":"id"},`+
		`"query":{"type":"string","description":"words and \"phrases\" to find, alone or in a channel or thread"},`+
		`"cursor":{"type":"string","description":"cursor of an answer, to go on after it; in a channel also a message's id or a time, to go back"},`+
		`"limit":{"type":"integer"},"max_bytes":{"type":"integer","description":"of one message: 6144, at most 65536"}`,
	nil,
	func(ctx context.Context, s *session, given readArguments) (any, error) {
		named := 0
		for _, id := range []string{given.Channel, given.Thread, given.Message} {
			if id != "" {
				named++
			}
		}
		switch {
		case given.Query != "" && named <= 1 && (given.Limit == nil || *given.Limit >= 1 && *given.Limit <= mostRead):
			return s.search(ctx, given)
		case given.MaxBytes != 0 && given.Message == "":
			return nil, fault.BadField("max_bytes", "goes with message alone; leave it out.")
		case given.MaxBytes != 0 && (given.MaxBytes < leastWhole || given.MaxBytes > mostWhole):
			return nil, fault.BadField("max_bytes", "must be from %d to %d.", leastWhole, mostWhole)
		case named != 1:
			return nil, fault.BadField("channel", "or thread or message must be given, and one of them alone.")
		case given.Limit != nil && (*given.Limit < 1 || *given.Limit > mostRead):
			return nil, fault.BadField("limit", "must be from 1 to %d.", mostRead)
		case given.Channel != "":
			return s.readPart(ctx, given)
		case given.Thread != "":
			return s.readThread(ctx, given)
		}
		return s.readMessage(ctx, given)
	})

type readArguments struct {
	Channel string `json:"channel"`
	Thread  string `json:"thread"`
	Message string `json:"message"`
	Query   string `json:"query"`
	Cursor  string `json:"cursor"`
	Limit   *int32 `json:"limit"`
	// MaxBytes bounds how much of the payload of one message is shown.
	MaxBytes int `json:"max_bytes"`
}

// channelAnswer is a part of a channel, oldest first. Cursor goes on after the last message, for a wait, too.
type channelAnswer struct {
	// Earlier says that there may be messages before the first one. A time as cursor leads to them.
	Earlier  bool            `json:"earlier,omitempty"`
	Cursor   string          `json:"cursor,omitempty"`
	Messages []messageAnswer `json:"messages"`
}

// readPart shows what came after a message or a time, or else the newest messages.
func (s *session) readPart(ctx context.Context, given readArguments) (any, error) {
	page, err := s.caller.Messages.ListMessages(ctx, &openintentv1.ListMessagesRequest{
		ChannelId: given.Channel, Since: optional.Text(given.Cursor), Limit: limit(given.Limit),
	})
	if err != nil {
		return nil, err
	}
	answer := channelAnswer{Messages: []messageAnswer{}, Cursor: page.GetNextSince()}
	for _, m := range page.GetMessages() {
		row := shown(m, nil, payloadRoom)
		row.Channel = ""
		answer.Messages = append(answer.Messages, row)
	}
	shows := page.GetMessages()
	if given.Limit == nil {
		answer.Messages = thoseThatFit(answer.Messages, given.Cursor == "")
	}
	if fit := len(answer.Messages); given.Cursor == "" {
		shows = shows[len(shows)-fit:]
	} else {
		shows = shows[:fit]
	}
	s.tookShown(ctx, shows)
	answer.Earlier = given.Cursor == "" && (page.GetBounded() || len(answer.Messages) < len(page.GetMessages()) ||
		doors.MayBeCut(page.GetMessages(), int(*limit(given.Limit))))
	if last := len(answer.Messages) - 1; last >= 0 {
		answer.Cursor = answer.Messages[last].ID
	}
	return answer, nil
}

// thoseThatFit returns as many messages as an answer holds, but one at least: the last ones, or the first ones.
func thoseThatFit(messages []messageAnswer, fromEnd bool) []messageAnswer {
	bytes := 0
	for n := range messages {
		next := n
		if fromEnd {
			next = len(messages) - 1 - n
		}
		if bytes += len(inJSON(messages[next])); bytes <= answerRoom || n == 0 {
			continue
		}
		if fromEnd {
			return messages[next+1:]
		}
		return messages[:n]
	}
	return messages
}

// threadAnswer is a part of a thread, oldest first. Root is on the first page alone.
type threadAnswer struct {
	Channel       string          `json:"channel"`
	ClaimedBy     string          `json:"claimed_by,omitempty"`
	ClaimEnds     string          `json:"claim_ends,omitempty"`
	MoreReactions int             `json:"more_reactions,omitempty"`
	Cursor        string          `json:"cursor,omitempty"`
	Root          *messageAnswer  `json:"root,omitempty"`
	Messages      []messageAnswer `json:"messages"`
}

// reactionAnswer is a reaction as a model sees it.
type reactionAnswer struct {
	By     string `json:"by"`
	Signal string `json:"signal"`
	Note   string `json:"note,omitempty"`
	ETA    string `json:"eta,omitempty"`
}

// readThread shows the thread of a message with its reactions, and who holds the claim on it.
func (s *session) readThread(ctx context.Context, given readArguments) (any, error) {
	message, err := s.message(ctx, given.Thread)
	if err != nil {
		return nil, err
	}
	shows := cmp.Or(given.Limit, new(int32(threadMessages)))
	thread, err := s.caller.Messages.GetThread(ctx, &openintentv1.GetThreadRequest{
		ChannelId: message.GetChannelId(), MessageId: message.GetId(), Limit: shows, Cursor: optional.Text(given.Cursor),
	})
	if err != nil {
		return nil, err
	}
	answer := threadAnswer{
		Channel: message.GetChannelId(), ClaimedBy: thread.GetClaim().GetHolder(), ClaimEnds: moment(thread.GetClaim().GetExpiresAt()),
		Cursor: thread.GetNextCursor(), Messages: []messageAnswer{},
	}
	room := payloadRoom
	if given.Limit == nil {
		room = min(room, max(leastRoom, answerRoom/(len(thread.GetMessages())+1)-messageRoom))
	}
	reactions := answer.reactionsIn(thread)
	row := func(m *openintentv1.Message) messageAnswer {
		row := shown(m, nil, room)
		row.Channel, row.Thread, row.Reactions = "", "", reactions[m.GetId()]
		return row
	}
	if thread.GetRoot() != nil && given.Cursor == "" {
		answer.Root = new(row(thread.GetRoot()))
	}
	for _, m := range thread.GetMessages() {
		answer.Messages = append(answer.Messages, row(m))
	}
	s.tookShown(ctx, thread.GetMessages())
	return answer, nil
}

// reactionsIn returns the reactions that an answer shows, by message, and notes how many it leaves out.
func (a *threadAnswer) reactionsIn(thread *openintentv1.Thread) map[string][]reactionAnswer {
	shows := make(map[string][]reactionAnswer)
	for i, r := range thread.GetReactions() {
		if i == reactionsShown {
			a.MoreReactions = len(thread.GetReactions()) - i
			break
		}
		shows[r.GetMessageId()] = append(shows[r.GetMessageId()], reactionAnswer{
			r.GetAgentId(), r.GetSignal(), doors.Beginning(r.GetNote(), noteRoom), doors.Beginning(r.GetEta(), noteRoom),
		})
	}
	return shows
}

// readMessage shows one message whole, or as much of its payload after an offset as an answer holds.
func (s *session) readMessage(ctx context.Context, given readArguments) (any, error) {
	message, err := s.message(ctx, given.Message)
	if err != nil {
		return nil, err
	}
	answer, err := whole(message, given.Cursor, cmp.Or(given.MaxBytes, wholeRoom))
	if err != nil {
		return nil, err
	}
	s.tookMessage(ctx, message)
	return answer, nil
}

// whole returns a message with the part of its payload that begins at an offset in bytes and has at most room of them; "" stands for the
// beginning.
func whole(message *openintentv1.Message, cursor string, room int) (messageAnswer, error) {
	content, isText := contentOf(message.GetPayload())
	from := 0
	if cursor != "" {
		var err error
		if from, err = strconv.Atoi(cursor); err != nil || from < 0 || from > len(content) {
			return messageAnswer{}, fault.BadField("cursor", "must be that of an answer about this message: a number of bytes up to %d.",
				len(content))
		}
	}
	for from > 0 && from < len(content) && !utf8.RuneStart(content[from]) {
		from--
	}
	answer := shown(message, nil, room)
	part := doors.Beginning(content[from:], room)
	if from > 0 {
		answer.Text, answer.Payload, answer.Begin, answer.Cut = nil, nil, "", len(content)
		if isText {
			answer.Text = &part
		} else {
			answer.Part = part
		}
	}
	if end := from + len(part); end < len(content) {
		answer.Cursor = strconv.Itoa(end)
	}
	return answer, nil
}
