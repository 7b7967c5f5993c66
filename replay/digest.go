package replay

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"
	"unicode/utf8"
)

// digests gather what is only ambient and count what is delivered of it: one summary for all that came within a time.
type digests struct {
	intent   string
	within   time.Duration
	maxChars int
	open     *digest
	// deliveries and characters are those of the digests that are closed.
	deliveries, characters int
}

// digest is what one summary stands for.
type digest struct {
	began  time.Time
	span   span
	count  int
	counts map[counted]int
	// subjects are the newest, oldest first.
	subjects []subject
}

// counted is what a digest counts together.
type counted struct {
	ChannelID   string `json:"channel_id"`
	ChannelName string `json:"channel_name"`
	Sender      string `json:"sender"`
	Kind        string `json:"kind,omitempty"`
}

// These are the parts of a summary.
type (
	count struct {
		counted
		Count int `json:"count"`
	}
	subject struct {
		MessageID string `json:"message_id"`
		Subject   string `json:"subject"`
	}
	span struct {
		IntentID      string `json:"intent_id"`
		FirstPosition int64  `json:"first_position"`
		LastPosition  int64  `json:"last_position"`
	}
	summary struct {
		MessageCount int       `json:"message_count"`
		Counts       []count   `json:"counts"`
		LeftOutCount int       `json:"left_out_count"`
		Subjects     []subject `json:"subjects"`
		Spans        []span    `json:"spans"`
	}
)

// maxDigested bounds how many messages one digest sums up.
const maxDigested = 500

func newDigests(intent string, rules Rules) *digests {
	return &digests{intent: intent, within: seconds(rules.DigestSeconds), maxChars: rules.MaxChars}
}

// add gathers a message and returns false if there are no digests.
func (d *digests) add(m *Message, kind string) bool {
	if d.within == 0 {
		return false
	}
	if d.open != nil && (d.open.count == maxDigested || !m.CreatedAt.Before(d.open.began.Add(d.within))) {
		d.close()
	}
	if d.open == nil {
		d.open = &digest{began: m.CreatedAt, span: span{d.intent, m.Position, m.Position}, counts: make(map[counted]int)}
	}
	d.open.count++
	d.open.span.LastPosition = m.Position
	d.open.counts[counted{m.ChannelID, m.Channel, m.Sender, kind}]++
	if m.Subject != "" {
		d.open.subjects = append(d.open.subjects, subject{m.ID, m.Subject})
	}
	return true
}

// close delivers what was gathered.
func (d *digests) close() {
	if d.open == nil {
		return
	}
	d.deliveries++
	d.characters += charactersIn(d.open.summary(d.maxChars))
	d.open = nil
}

// summary is what is delivered, within a number of characters: first where the messages stand, then counts, the highest first, and then
// the newest subjects.
func (d *digest) summary(maxChars int) summary {
	s := summary{MessageCount: d.count, LeftOutCount: d.count, Counts: []count{}, Subjects: []subject{}, Spans: []span{d.span}}
	left := maxChars - charactersIn(s)
	order := func(a, b counted) int {
		return cmp.Or(cmp.Compare(d.counts[b], d.counts[a]), cmp.Compare(a.ChannelName, b.ChannelName), cmp.Compare(a.Sender, b.Sender),
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ChannelID, b.ChannelID))
	}
	for _, of := range slices.SortedFunc(maps.Keys(d.counts), order) {
		one := count{of, d.counts[of]}
		if chars := charactersIn(one) + 1; chars <= left {
			s.Counts, s.LeftOutCount, left = append(s.Counts, one), s.LeftOutCount-one.Count, left-chars
		}
	}
	for _, one := range slices.Backward(d.subjects) {
		chars := charactersIn(one) + 1
		if chars > left {
			break
		}
		s.Subjects, left = append(s.Subjects, one), left-chars
	}
	return s
}

// charactersIn returns how many characters a value has as JSON.
func charactersIn(value any) int {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(value) != nil { // none of the parts fails
		return 0
	}
	return utf8.RuneCount(text.Bytes()) - 1 // without the line's end
}
