package writing

import (
	"cmp"

	"openintent/channels"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/messaging/message"
)

// channelByName finds the intent's open channel with the draft's name, or creates it (RFC-0021 section 1.4). It creates it
// last, so that a refused message creates none.
func (b *batch) channelByName(d *Draft, s situation) (*channels.Rules, error) {
	if err := s.access.Require(d.By, d.Sender, intents.PermissionRead, s.now); err != nil {
		return nil, err
	}
	if s.head.Ended() {
		return nil, message.ErrIntentEnded
	}
	d.creates = false
	name := channels.Named{IntentNo: d.IntentNo, Name: d.Name}
	if channel := b.rules[b.named[name]]; channel != nil {
		open, err := b.channels.EndIfLapsed(b.tx, s.head, channel, *b.counts[channel.Key])
		if open || err != nil {
			return channel, err
		}
	}
	if d.MessageType == message.TypeResponse {
		return nil, d.unknownRequest()
	}
	if err := cmp.Or(admitExpiry(d, s.now), s.targetTakes(d), s.checkNew(d)); err != nil {
		return nil, err
	}
	owner := d.Sender
	if d.Unowned {
		owner = caller.System
	}
	channel, err := b.channels.CreateImplicit(b.tx, s.head, d.Name, owner, d.By.KeyID)
	if err == nil {
		d.creates = true
		b.named[name], b.rules[channel.Key], b.counts[channel.Key] = channel.Key, channel, &channels.Count{}
	}
	return channel, err
}

// channel returns the rules of a channel that a draft is for.
func (s *state) channel(key channels.Key) (*channels.Rules, error) {
	rules := s.rules[key]
	if rules == nil {
		return nil, channels.ErrChannelNotFound
	}
	return rules, nil
}
