package loopbrake

import "openintent/messaging/message"

// Place is where two agents write: a thread, by the position of its first message, or a channel outside threads, where that is 0.
type Place struct{ ChannelNo, Root int64 }

// PlaceOf returns where a message counts, if it does.
func PlaceOf(channelNo int64, kind message.Type, c *message.Conversation) (place Place, counts bool) {
	place.ChannelNo = channelNo
	if c != nil {
		place.Root = c.ThreadPosition
	}
	return place, place.Root != 0 || kind != message.TypeResponse
}
