package c2a

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
)

// The time of a request is watched once, however often the harness gets the request, and again once it has been looked at. A connection
// watches a bounded number of them, and none after its end.
func TestTheTimeOfARequestIsWatchedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &expected{due: make(chan *openintentv1.Message, 2*mostExpected)}
		request := func(id string) *openintentv1.Message {
			return &openintentv1.Message{Id: id, ChannelId: "chan_1", MessageType: openintentv1.MessageType_MESSAGE_TYPE_REQUEST}
		}
		// overIn lets so much time pass, and returns how many requests are looked at then.
		overIn := func(pause time.Duration) (looked int) {
			<-time.After(pause)
			synctest.Wait()
			for ; len(e.due) > 0; looked++ {
				require.Equal(t, "chan_1", (<-e.due).GetChannelId())
			}
			return looked
		}
		for range 2 {
			e.handed(request("msg_1"), new(int64(1_000)))
			e.handed(request("msg_1"), new(int64(1_000)))
			e.handed(request("endless"), nil)
			e.handed(&openintentv1.Message{Id: "notice", MessageType: openintentv1.MessageType_MESSAGE_TYPE_NOTIFY}, new(int64(1)))
			require.Zero(t, overIn(time.Second), "the server's clock decides, so it is asked a little later")
			require.Equal(t, 1, overIn(time.Minute))
		}
		for i := range mostExpected + 1 {
			e.handed(request(fmt.Sprint(i)), new(int64(1_000)))
		}
		require.Equal(t, mostExpected, overIn(time.Minute))
		e.handed(request("msg_2"), new(int64(1_000)))
		e.forget()
		require.Zero(t, overIn(time.Minute))
	})
}
