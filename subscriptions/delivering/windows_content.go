package delivering

import (
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging/reading"
	"openintent/subscriptions/record"
	"openintent/subscriptions/waiting"
)

// parcelOf returns a delivery with the contents for which it stands.
func parcelOf(sub *record.Subscription, d record.Delivery, entries []reading.Entry) (parcel, error) {
	wire, err := wireOf(sub, d, entries)
	p := parcel{Delivery: d, entry: entries[len(entries)-1], Wire: wire}
	if sub.Windowed() {
		p.parts = entries
	}
	return p, err
}

// at returns the parcel as of a later time. It tells whether the subscriber is still shown anything of it.
func (p parcel) at(now time.Time, sub *record.Subscription) (later parcel, shown bool, err error) {
	if p.parts == nil {
		_, shown = p.entry.At(now, sub.Reader())
		return p, shown, nil
	}
	var left []reading.Entry
	for _, entry := range p.parts {
		if entry, shown := entry.At(now, sub.Reader()); shown {
			left = append(left, entry)
		}
	}
	switch len(left) {
	case 0:
		return p, false, nil
	case len(p.parts):
		return p, true, nil
	}
	later, err = parcelOf(sub, p.Delivery, left)
	return later, true, err
}

// appendTraced appends the entries that the parcel hands over in full.
func (p parcel) appendTraced(entries []reading.Entry) []reading.Entry {
	switch {
	case p.parts == nil:
		return append(entries, p.entry)
	case p.IsDigest():
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
func wireOf(sub *record.Subscription, d record.Delivery, entries []reading.Entry) (*openintentv1.SubscriptionDelivery, error) {
	var summed []reading.Entry
	full := entries
	if d.IsDigest() {
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
	if newest != nil && !d.IsDigest() {
		wire.Position = newest.Position
	}
	if !sub.Filter.Attention {
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
		wire.Digest = waiting.DigestOf(sums, int(sub.MaxChars))
		if newest == nil {
			wire.IntentId, wire.Attention = summed[len(summed)-1].IntentID, waiting.AttentionOfDigest(sums, sub.Subscriber)
		}
	}
	return wire, nil
}

// earlierOf returns one of several messages that come with one delivery.
func earlierOf(sub *record.Subscription, entry reading.Entry) (*openintentv1.EarlierMessage, error) {
	message, _, _, err := entry.ToWire()
	wire := &openintentv1.EarlierMessage{
		IntentId: entry.IntentID, Position: entry.Position, ChannelName: entry.ChannelName, Message: message,
	}
	if sub.Filter.Attention {
		wire.Attention = entry.AttentionToWire()
	}
	return wire, err
}

// waitingEntry returns an entry as the rules of waiting know it.
func waitingEntry(e reading.Entry) waiting.Entry {
	return waiting.Entry{
		IntentNo: e.IntentNo, ChannelNo: e.ChannelNo, Position: e.Position,
		IntentID: e.IntentID, ChannelID: e.ChannelID, ChannelName: e.ChannelName, Message: e.Message, Attention: e.Attention,
	}
}

func waitingEntries(entries []reading.Entry) []waiting.Entry {
	all := make([]waiting.Entry, len(entries))
	for i, e := range entries {
		all[i] = waitingEntry(e)
	}
	return all
}
