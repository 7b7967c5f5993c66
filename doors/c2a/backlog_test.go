package c2a

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
)

// A refused request comes again, and no sooner than one that was not answered: a refusal ends no wait, and a result does.
func TestARefusalOfAnOpenRequestIsNoAnswer(t *testing.T) {
	c, _, _ := harnessOf()
	answer := c.pending.awaitAlone("deliver-msg_1")
	c.pending.answered(frame{ID: []byte(`"deliver-msg_1"`), Error: &rpcError{Message: "no room"}})
	require.False(t, <-answer)
	answer = c.pending.awaitAlone("deliver-msg_1")
	c.pending.answered(frame{ID: []byte(`"deliver-msg_1"`)})
	require.True(t, <-answer)

	answers := make(chan bool, 2)
	answers <- false
	answers <- true
	accepted, err := answeredWithin(t.Context(), answers, time.Hour)
	require.NoError(t, err)
	require.True(t, accepted)
}

// A new harness gets the open requests of all pages of the inbox, one after the other, and nothing else that is in the inbox.
func TestOpenRequestsOfAllPages(t *testing.T) {
	item := func(id string, kind openintentv1.MessageType, attention *openintentv1.Attention) *openintentv1.InboxItem {
		return &openintentv1.InboxItem{Message: &openintentv1.Message{Id: id, Sender: "ann", MessageType: kind}, Attention: attention}
	}
	const request, notify = openintentv1.MessageType_MESSAGE_TYPE_REQUEST, openintentv1.MessageType_MESSAGE_TYPE_NOTIFY
	loud := &openintentv1.Attention{Injection: openintentv1.Injection_INJECTION_BUFFERED}
	c, s, l := harnessOf()
	s.inbox = []*openintentv1.Inbox{
		{Items: []*openintentv1.InboxItem{item("msg_1", request, loud), item("msg_2", notify, loud)}, NextCursor: new("2")},
		{Items: []*openintentv1.InboxItem{item("msg_3", request, nil), item("msg_4", request, loud)}, NextCursor: new("3")},
		{Items: []*openintentv1.InboxItem{item("msg_5", request, loud)}},
	}
	var came []string
	c.working.Go(func() {
		for text := range l.out {
			f, _ := parse(text)
			id, _ := f.textID()
			came = append(came, id)
			c.pending.answered(frame{ID: f.ID})
		}
	})
	require.NoError(t, c.deliverBacklog(t.Context()))
	close(l.out)
	c.working.Wait()
	require.Equal(t, []string{"deliver-msg_1", "deliver-msg_4", "deliver-msg_5"}, came)
}
