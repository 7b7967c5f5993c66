package replay

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// digests gather what is only ambient and count what is delivered of it: one summary for all that came within a time.
type digests struct {
	within   time.Duration
	maxChars int
	open     *digest
	// deliveries and characters are those of the digests that are closed.
	deliveries, characters int
}

// digest is one summary.
type digest struct {
	began       time.Time
	first, last int64
	counts      map[counted]int
	// subjects are the newest, oldest first.
	subjects []string
}

// counted is what a digest counts together.
type counted struct{ channel, author, kind string }

// maxSubjects bounds how many subjects a digest names.
const maxSubjects = 20

func newDigests(rules Rules) *digests {
	return &digests{within: seconds(rules.DigestSeconds), maxChars: rules.MaxChars}
}

// add gathers a message and returns false if there are no digests.
func (d *digests) add(m *Message, kind string) bool {
	if d.within == 0 {
		return false
	}
	if d.open != nil && !m.CreatedAt.Before(d.open.began.Add(d.within)) {
		d.close()
	}
	if d.open == nil {
		d.open = &digest{began: m.CreatedAt, first: m.Position, counts: make(map[counted]int)}
	}
	d.open.last = m.Position
	d.open.counts[counted{m.Channel, m.Sender, kind}]++
	if m.Subject != "" {
		d.open.subjects = append(d.open.subjects, m.Subject)
		d.open.subjects = d.open.subjects[max(0, len(d.open.subjects)-maxSubjects):]
	}
	return true
}

// close delivers what was gathered.
func (d *digests) close() {
	if d.open == nil {
		return
	}
	d.deliveries++
	d.characters += min(utf8.RuneCountInString(d.open.text()), d.maxChars)
	d.open = nil
}

// text returns the summary: counts by channel, author and kind, the newest subjects, and where the messages stand in the log.
func (d *digest) text() string {
	var text strings.Builder
	_, _ = fmt.Fprintf(&text, "positions %d to %d\n", d.first, d.last)
	order := func(a, b counted) int {
		return cmp.Or(cmp.Compare(a.channel, b.channel), cmp.Compare(a.author, b.author), cmp.Compare(a.kind, b.kind))
	}
	for _, of := range slices.SortedFunc(maps.Keys(d.counts), order) {
		_, _ = fmt.Fprintf(&text, "%s, %s, %s: %d\n", of.channel, of.author, of.kind, d.counts[of])
	}
	for _, subject := range slices.Backward(d.subjects) {
		text.WriteString(subject + "\n")
	}
	return text.String()
}
