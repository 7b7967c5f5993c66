package reading

import (
	"sync"

	"google.golang.org/grpc"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging/message"
)

// Encodings keeps an entry in the forms in which streams send it. Followers share the entries that their tail reads, and
// with them the encodings: the first follower that sends an entry makes the form it needs, and the others use that for as
// long as the message's status stays.
type Encodings struct {
	mutex  sync.Mutex
	status message.Status
	// network is for streams over the network, local for streams within the process. Neither is changed once it is made.
	network *grpc.PreparedMsg
	local   *openintentv1.SubscribeResponse
}

// OverNetwork returns what streams over the network send.
func (n *Encodings) OverNetwork(e Entry, encode func() (*grpc.PreparedMsg, error)) (*grpc.PreparedMsg, error) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.keepIfCurrent(e)
	var err error
	if n.network == nil {
		n.network, err = encode()
	}
	return n.network, err
}

// InProcess returns what streams within the process send.
func (n *Encodings) InProcess(
	e Entry, form func() (*openintentv1.SubscribeResponse, error),
) (*openintentv1.SubscribeResponse, error) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.keepIfCurrent(e)
	var err error
	if n.local == nil {
		n.local, err = form()
	}
	return n.local, err
}

// keepIfCurrent drops the forms when the message has another status by now.
func (n *Encodings) keepIfCurrent(e Entry) {
	if e.Message == nil {
		return
	}
	if status := e.Message.Status(e.Now); n.status != status {
		n.status, n.network, n.local = status, nil, nil
	}
}
