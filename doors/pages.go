package doors

import (
	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
)

// nearlyFull is how many bytes a page of messages may have and has certainly not ended early. Pages end at 3 MiB, and a message has at most
// 256 KiB of payload and metadata.
const nearlyFull = 2 << 20

// MayBeCut reports whether a page of messages may have left some out: it has as many as the limit, or is
// so large that it may have ended early.
func MayBeCut(messages []*openintentv1.Message, limit int) bool {
	size := 0
	for _, m := range messages {
		size += proto.Size(m)
	}
	return len(messages) == limit || size > nearlyFull
}
