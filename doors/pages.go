package doors

import (
	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
)

// nearlyFull is from how many bytes on a page of messages may have ended early. Pages end at 3 MiB, and a message has 256 KiB at most.
const nearlyFull = 2 << 20

// MayBeCut reports whether a page of messages may have left some out: it has as many as were asked for, or ended because of their sizes.
func MayBeCut(messages []*openintentv1.Message, limit int) bool {
	size := 0
	for _, m := range messages {
		size += proto.Size(m)
	}
	return len(messages) == limit || size > nearlyFull
}
