package ownlog

import (
	"slices"

	"openintent/messaging/reading"
	"openintent/subscriptions/delivering"
)

const (
	// manyRecent and manyRecentBytes bound how many pages of numbered deliveries are kept for the streams, and their size.
	manyRecent      = 64
	manyRecentBytes = 2 << 20
)

// recentNumbers are deliveries that were numbered one after the other, page by page, with their contents. They are never changed.
type recentNumbers []recentPage

// recentPage is a page that a look has numbered. look is up to which look that streams have asked for it counts: what it shows was read
// after the streams up to there have joined.
type recentPage struct {
	look int
	rows []delivering.Numbered
}

// with returns them with a further page. Streams that are a little behind, as most are when messages come fast, need not read it.
func (r recentNumbers) with(page recentPage) recentNumbers {
	if len(page.rows) == 0 {
		return r
	}
	from, size := len(r), page.size()
	for from > 0 && len(r)-from < manyRecent-1 {
		if size += r[from-1].size(); size > manyRecentBytes {
			break
		}
		from--
	}
	return append(slices.Clone(r[from:]), page)
}

func (p recentPage) size() (size int) {
	for _, one := range p.rows {
		size += itemOf(one.Entry).Size()
	}
	return size
}

// itemOf returns what an entry shows.
func itemOf(entry reading.Entry) reading.Item {
	return reading.Item{Message: entry.Message, Event: entry.Event, Annotation: entry.Annotation}
}
