package openintent

import (
	"cmp"
	"slices"
	"time"
)

// This file says which messages a mailbox holds, which of them come first, and which deliveries are done with. Nothing here waits.

// mostFinished is how many deliveries are acknowledged with one call.
const mostFinished = 1000

// letter is a message that a mailbox holds. came is when it came, and read when its content was read last.
type letter struct {
	message    *Message
	attempt    int
	numbers    []int64 // of its deliveries; none for what was found in the inbox
	came, read time.Time
	taken      bool
	// notBefore and turns say when a message is turned to again on which others hold the claims, and how often it was.
	notBefore time.Time
	turns     int
}

// waitsForAnswer reports whether somebody waits for the agent to answer.
func (l *letter) waitsForAnswer() bool {
	policy := Policy("")
	if l.message.Attention != nil {
		policy = l.message.Attention.Policy
	}
	return l.message.MessageType == Request && policy != MustNotRespond || policy == MustRespond
}

// group is the place of the message among others: urgent ones, those that wait for an answer, and the rest.
func (l *letter) group() int {
	priority := l.message.Priority
	if l.message.Attention != nil {
		priority = l.message.Attention.Priority
	}
	switch {
	case priority == PriorityUrgent:
		return 0
	case l.waitsForAnswer():
		return 1
	}
	return 2
}

// compareLetters puts the most important message first, and then each by its position. Positions of different intents do not compare, so the time
// goes before them; within an intent it rises with them.
func compareLetters(a, b *letter) int {
	return cmp.Or(
		cmp.Compare(a.group(), b.group()), a.message.CreatedAt.Compare(b.message.CreatedAt),
		cmp.Compare(a.message.Position, b.message.Position), cmp.Compare(a.message.ID, b.message.ID),
	)
}

// isOver reports whether nobody waits for an answer any more.
func (l *letter) isOver(now time.Time) bool {
	attention := l.message.Attention
	return attention != nil && attention.Deadline != nil && !now.Before(l.came.Add(*attention.Deadline))
}

// putOff puts the message off because others hold the claims on it: for longer and longer.
func (l *letter) putOff(now time.Time) {
	l.notBefore = now.Add(min(firstTurn<<min(l.turns, 10), longestTurn))
	l.turns++
}

// mail is what a mailbox holds: what waits, and what was taken and not settled. It remembers the newest ids of what was settled, so that what
// comes again is not shown again.
type mail struct {
	letters  map[string]*letter
	done     *recent
	finished []int64
}

func newMail() *mail { return &mail{letters: make(map[string]*letter), done: newRecent(handledMemory)} }

// arrive takes in a message with the number of its delivery, or 0. It reports whether the message is new.
func (m *mail) arrive(l *letter, number int64) bool {
	known := m.letters[l.message.ID]
	switch {
	case known == nil && m.done.has(l.message.ID):
		m.passOver(number)
		return false
	case known == nil:
		m.letters[l.message.ID] = l
		known = l
	}
	if known != l && len(known.numbers) == 0 { // it was found in the inbox, which does not say the attempt
		known.attempt = max(known.attempt, l.attempt)
	}
	if number != 0 && !slices.Contains(known.numbers, number) {
		known.numbers = append(known.numbers, number)
	}
	return known == l
}

// passOver notes that a delivery is not for the mailbox.
func (m *mail) passOver(number int64) {
	if number != 0 {
		m.finished = append(m.finished, number)
	}
}

// waiting returns what waits, the most important first.
func (m *mail) waiting(now time.Time) []*letter {
	var waiting []*letter
	for _, l := range m.letters {
		if !l.taken && !l.notBefore.After(now) {
			waiting = append(waiting, l)
		}
	}
	slices.SortFunc(waiting, compareLetters)
	return waiting
}

// nextTurn returns when the next message that was put off has its turn, or the zero time.
func (m *mail) nextTurn(now time.Time) (next time.Time) {
	for _, l := range m.letters {
		if !l.taken && l.notBefore.After(now) && (next.IsZero() || l.notBefore.Before(next)) {
			next = l.notBefore
		}
	}
	return next
}

// putBack lets a message that was taken wait again.
func (m *mail) putBack(id string) {
	if l := m.letters[id]; l != nil && l.taken {
		l.taken = false
		l.attempt++
	}
}

// finish notes that a message is done with, whether it has come or is about to. Its deliveries are to be acknowledged.
func (m *mail) finish(id string) {
	if l := m.letters[id]; l != nil {
		m.finished = append(m.finished, l.numbers...)
		delete(m.letters, id)
	}
	m.done.add(id)
}

// standBy forgets what waits and what is to be acknowledged: another process has it now. What was taken stays.
func (m *mail) standBy() {
	for id, l := range m.letters {
		if !l.taken {
			delete(m.letters, id)
		}
	}
	m.finished = nil
}

// acknowledgeable takes the next deliveries that are done with.
func (m *mail) acknowledgeable() []int64 {
	count := min(len(m.finished), mostFinished)
	page := m.finished[:count:count]
	m.finished = m.finished[count:]
	return page
}
