package subscriptions

import (
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging/reading"
	"openintent/subscriptions/waiting"
)

// parcelOf returns a delivery with the contents for which it stands.
func parcelOf(sub *subscription, d delivery, entries []reading.Entry) (parcel, error) {
	wire, err := wireOf(sub, d, entries)
	p := parcel{delivery: d, entry: entries[len(entries)-1], wire: wire}
	if sub.windowed() {
		p.parts = entries
	}
	return p, err
}

// at returns the parcel as of a later time. It tells whether the subscriber is still shown anything of it.
func (p parcel) at(now time.Time, sub *subscription) (later parcel, shown bool, err error) {
	if p.parts == nil {
		_, shown = p.entry.At(now, sub.reader())
		return p, shown, nil
	}
	var left []reading.Entry
	for _, entry := range p.parts {
		if entry, shown := entry.At(now, sub.reader()); shown {
			left = append(left, entry)
		}
	}
	switch len(left) {
	case 0:
		return p, false, nil
	case len(p.parts):
		return p, true, nil
	}
	later, err = parcelOf(sub, p.delivery, left)
	return later, true, err
}

// appendTraced appends the entries that the parcel hands over in full.
func (p parcel) appendTraced(entries []reading.Entry) []reading.Entry {
	switch {
	case p.parts == nil:
		return append(entries, p.entry)
	case p.isDigest():
		_, full := divided(p.parts)
		return append(entries, full...)
	}
	return append(entries, p.parts...)
}

// divided divides what a digest stands for into what it sums up and what is for the subscriber by now.
func divided(entries []reading.Entry) (summed, full []reading.Entry) {
	for _, entry := range entries {
		if waitingEntry(entry).TooImportant() {
			full = append(full, entry)
		} else {
			summed = append(summed, entry)
		}
	}
	return summed, full
}

// wireOf returns a delivery with all for which it stands as clients see it. Without entries the caller fills in the intent.
func wireOf(sub *subscription, d delivery, entries []reading.Entry) (*openintentv1.SubscriptionDelivery, error) {
	var summed []reading.Entry
	full := entries
	if d.isDigest() {
		summed, full = divided(entries)
	}
	var newest *reading.Entry
	if n := len(full); n > 0 {
		newest = &full[n-1]
	}
	wire, err := toWire(sub, d, newest)
	if err != nil {
		return nil, err
	}
	if newest != nil && !d.isDigest() {
		wire.Position = newest.Position
	}
	if !sub.filter.Attention {
		wire.Attention = nil
	}
	for i, entry := range full {
		if len(full) > 1 && entry.Message != nil {
			wire.SourceIds = append(wire.SourceIds, entry.Message.ID)
		}
		if i == len(full)-1 {
			break
		}
		earlier, err := earlierOf(sub, entry)
		if err != nil {
			return nil, err
		}
		wire.Earlier = append(wire.Earlier, earlier)
	}
	if len(summed) > 0 {
		sums := waitingEntries(summed)
		wire.Digest = waiting.DigestOf(sums, int(sub.maxChars))
		if newest == nil {
			wire.IntentId, wire.Attention = summed[len(summed)-1].IntentID, waiting.AttentionOfDigest(sums, sub.subscriber)
		}
	}
	return wire, nil
}

// earlierOf returns one of several messages that come with one delivery.
func earlierOf(sub *subscription, entry reading.Entry) (*openintentv1.EarlierMessage, error) {
	message, _, _, err := entry.ToWire()
	wire := &openintentv1.EarlierMessage{
		IntentId: entry.IntentID, Position: entry.Position, ChannelName: entry.ChannelName, Message: message,
	}
	if sub.filter.Attention {
		wire.Attention = entry.AttentionToWire()
	}
	return wire, err
}
