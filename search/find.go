package search

import (
	"errors"
	"time"

	"openintent/agents"
	"openintent/channels"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/message"
	"openintent/messaging/reading"
)

const (
	// maxCandidates bounds how many messages one page looks at, maxLooks how often it looks into the index, and maxText about how many
	// bytes of messages it reads.
	maxCandidates = 2_000
	maxLooks      = 200
	maxText       = 16 << 20
	// firstChunk and maxChunk bound how many messages it looks at together.
	firstChunk = 64
	maxChunk   = 512
)

// wanted is what a search looks for.
type wanted struct {
	by    caller.Caller
	query query
	// The filters are empty or zero where there are none.
	intentID, channelID, threadID string
	sender, to, kind              string
	after, before                 time.Time
	// below is the number below which the page begins.
	below int64
	limit int
}

// find finds a page.
func (s *Service) find(tx *database.Tx, w wanted) (*page, error) {
	marks, exists, err := s.marks(tx, w)
	if err != nil || !exists {
		return &page{}, err
	}
	candidates := &database.WordSearch{Words: database.Distinct(append(w.query.words(), marks...)), Below: w.below}
	if !w.after.IsZero() {
		candidates.From = numberAt(micros(w.after))
	}
	if !w.before.IsZero() {
		candidates.Below = min(candidates.Below, numberAt(micros(w.before)+1))
	}
	var newest int64
	if err := tx.Pipeline(database.Statement{
		SQL:  "SELECT document FROM search_documents WHERE document < ? ORDER BY document DESC LIMIT 1",
		Args: []any{candidates.Below}, Scan: func(row database.Row) error { return row.Scan(&newest) },
	}); err != nil {
		return nil, err
	}
	candidates.Below = min(candidates.Below, newest+1)
	presences, err := agents.LoadPresences(tx, []string{w.by.Agent})
	if err != nil {
		return nil, err
	}
	presence := presences[w.by.Agent]
	presence.AgentID = w.by.Agent
	l := &look{service: s, tx: tx, wanted: w, presences: map[string]agents.Presence{w.by.Agent: presence}}
	return l.fill(candidates)
}

// micros returns a time in whole microseconds, of those times that a database can have.
func micros(t time.Time) int64 { return min(max(t.UnixMicro(), 0), latestMicros-1) }

// marks returns the marks of the filters. exists is false if nothing can pass them.
func (s *Service) marks(tx *database.Tx, w wanted) (marks []string, exists bool, err error) {
	if w.intentID != "" {
		intentNo, err := s.intents.Resolve(tx, w.intentID)
		if err != nil {
			return nil, false, unless(err, intents.ErrIntentNotFound)
		}
		marks = append(marks, intentMark(intentNo))
	}
	if w.channelID != "" {
		key, err := s.channels.Locate(tx, w.channelID)
		if err != nil {
			return nil, false, unless(err, channels.ErrChannelNotFound)
		}
		marks = append(marks, channelMark(key))
	}
	for _, filter := range []struct {
		name string
		mark func(string) string
	}{{w.threadID, threadMark}, {w.sender, senderMark}, {w.to, addressMark}, {w.kind, kindMark}} {
		if filter.name != "" {
			marks = append(marks, filter.mark(filter.name))
		}
	}
	return marks, true, nil
}

func unless(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

// passes reports whether a message passes the filters.
func (w wanted) passes(m *message.Message, channel *channels.Rules) bool {
	switch {
	case w.intentID != "" && channel.IntentID != w.intentID,
		w.channelID != "" && channel.ID != w.channelID,
		w.threadID != "" && threadOf(m) != w.threadID,
		w.sender != "" && m.Sender != w.sender,
		w.to != "" && addressOf(m) != w.to,
		w.kind != "" && kindOf(m) != w.kind,
		!w.after.IsZero() && !m.CreatedAt.After(w.after),
		!w.before.IsZero() && !m.CreatedAt.Before(w.before):
		return false
	}
	return true
}

// look goes through what the index has found, and keeps what the caller may see.
type look struct {
	service *Service
	tx      *database.Tx
	wanted
	presences map[string]agents.Presence
	page      page
	bytes     int
	// text is how many bytes of messages were read.
	text int
}

// fill fills the page. The cursor of a page lies right after the last message on it, or after what was looked at.
func (l *look) fill(candidates *database.WordSearch) (*page, error) {
	chunk, seen := firstChunk, 0
	for looks := 0; ; looks++ {
		numbers, done, err := candidates.Next(l.tx, min(chunk, maxCandidates-seen))
		if err != nil {
			return nil, err
		}
		ended, err := l.take(numbers)
		if err != nil {
			return nil, err
		}
		seen += len(numbers)
		switch {
		case ended:
			return &l.page, nil
		case done:
			return &l.page, nil
		case seen >= maxCandidates || looks >= maxLooks:
			l.page.next, l.page.bounded = candidates.Below, true
			return &l.page, nil
		case len(numbers) == chunk:
			chunk = min(2*chunk, maxChunk)
		}
	}
}

// take puts on the page what it should have of some documents. It ends the page if there was more than fits, or more text than one page
// may read.
func (l *look) take(numbers []int64) (ended bool, err error) {
	visible, err := l.visible(numbers)
	if err != nil {
		return false, err
	}
	for len(visible) > 0 {
		some := visible[:min(len(visible), firstChunk/2)]
		visible = visible[len(some):]
		if err := l.load(some); err != nil {
			return false, err
		}
		for _, f := range some {
			size := f.message.Size()
			l.text += size
			if place, matches := l.query.match(textsOf(f.message)); matches {
				l.bytes += size
				if len(l.page.found) == l.limit || len(l.page.found) > 0 && l.bytes > reading.MaxPageBytes {
					l.page.next = l.page.found[len(l.page.found)-1].number
					return true, nil
				}
				f.snippet = place.snippet()
				l.page.found = append(l.page.found, f)
			}
			if l.text > maxText {
				l.page.next, l.page.bounded = f.number, true
				return true, nil
			}
		}
	}
	return false, nil
}

// notedThrough returns the time up to which the index has all messages of all intents, as it has noted; zero while it is being filled.
// Servers of an older release do not know holes, so they may have noted too much.
func notedThrough(tx *database.Tx, asOf time.Time) (time.Time, error) {
	var noted, holes, first int64
	if err := tx.Pipeline(
		database.ReadValue(&noted, "SELECT complete_through FROM search_state WHERE one = 1"),
		database.ReadValue(&holes, "SELECT COUNT(*) FROM (SELECT 1 FROM search_holes LIMIT ?) AS g", mostLookedAt+1),
	); err != nil || noted == 0 || holes > mostLookedAt {
		return time.Time{}, err
	}
	through := message.Earliest(database.Time(noted), asOf)
	if holes == 0 {
		return through, nil
	}
	err := tx.Pipeline(database.ReadValue(&first, "SELECT COALESCE(MIN(h.first_at), 0) FROM (SELECT (SELECT m.created_at FROM messages m"+
		" WHERE m.intent_no = g.intent_no AND m.position > g.low ORDER BY m.position LIMIT 1) AS first_at FROM search_holes g) h"))
	if first > 0 {
		through = message.Earliest(through, database.Time(first))
	}
	return through, err
}
