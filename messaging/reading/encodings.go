package reading

import (
	"sync"

	"google.golang.org/grpc"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging/attention"
	"openintent/messaging/message"
)

// Encodings keeps an entry in the forms in which streams send it. Followers share the entries that their tail reads, and
// with them the encodings: the first follower that sends an entry makes the form it needs, and the others use that for as
// long as the message's status stays. With attention there is one form for each verdict, and the table has few.
type Encodings struct {
	mutex    sync.Mutex
	status   message.Status
	plain    forms
	attended map[attention.Form]*forms
}

// forms are an entry as it is sent. network is for streams over the network, local for streams within the process. Neither is
// changed once it is made.
type forms struct {
	network *grpc.PreparedMsg
	local   *openintentv1.SubscribeResponse
}

// OverNetwork returns what streams over the network send.
func (n *Encodings) OverNetwork(e Entry, encode func() (*grpc.PreparedMsg, error)) (_ *grpc.PreparedMsg, err error) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	kept := n.formsOf(e)
	if kept.network == nil {
		kept.network, err = encode()
	}
	return kept.network, err
}

// InProcess returns what streams within the process send.
func (n *Encodings) InProcess(
	e Entry, form func() (*openintentv1.SubscribeResponse, error),
) (_ *openintentv1.SubscribeResponse, err error) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	kept := n.formsOf(e)
	if kept.local == nil {
		kept.local, err = form()
	}
	return kept.local, err
}

// formsOf returns the forms of an entry that shares its form. It drops all forms when the message has another status by now.
func (n *Encodings) formsOf(e Entry) *forms {
	if e.Message == nil {
		return &n.plain
	}
	if status := e.Message.Status(e.Now); n.status != status {
		n.status, n.plain, n.attended = status, forms{}, nil
	}
	if e.Attention == nil {
		return &n.plain
	}
	asked, _ := e.Attention.Form()
	if n.attended[asked] == nil {
		if n.attended == nil {
			n.attended = make(map[attention.Form]*forms)
		}
		n.attended[asked] = new(forms)
	}
	return n.attended[asked]
}
