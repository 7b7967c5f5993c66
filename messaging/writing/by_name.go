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
	channel, err := b.channels.FindOpenByName(b.tx, s.head, d.Name, b.counts)
	if err != nil {
		return nil, err
	}
	if channel != nil {
		return channel, nil
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
	channel, err = b.channels.CreateImplicit(b.tx, s.head, d.Name, owner, d.By.KeyID)
	if err == nil {
		d.creates = true
		b.counts[channel.Key] = &channels.Count{}
	}
	return channel, err
}
