package server

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
)

// noted is what a follower saw of one frame.
type noted struct {
	frame
	payload string
}

type notes struct {
	all  []noted
	open noted
}

func (n *notes) begins(f frame)                { n.open = noted{frame: f} }
func (n *notes) carries(_ frame, piece []byte) { n.open.payload += string(piece) }
func (n *notes) ends(frame)                    { n.all = append(n.all, n.open) }

func TestFramesAreFollowedInWhateverPieces(t *testing.T) {
	var wire bytes.Buffer
	wire.WriteString(http2.ClientPreface)
	framer := http2.NewFramer(&wire, nil)
	require.NoError(t, framer.WriteSettings(http2.Setting{ID: http2.SettingEnablePush, Val: 0}))
	require.NoError(t, framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte("block"), EndHeaders: true}))
	require.NoError(t, framer.WriteDataPadded(1, false, []byte("hello"), make([]byte, 7)))
	require.NoError(t, framer.WriteData(1, true, nil))
	require.NoError(t, framer.WriteRSTStream(1, http2.ErrCodeCancel))
	for range 100 {
		seen := &notes{}
		follower := frameFollower{to: seen, skip: prefaceBytes}
		for rest := wire.Bytes(); len(rest) > 0; {
			n := 1 + rand.IntN(min(len(rest), 20))
			follower.follow(rest[:n])
			rest = rest[n:]
		}
		require.Len(t, seen.all, 5)
		require.Equal(t, noted{frame{frameHeaders, 0x4, 1, 5}, "block"}, seen.all[1])
		require.Equal(t, noted{frame{frameData, flagPadded, 1, 13}, "\x07hello" + string(make([]byte, 7))}, seen.all[2])
		require.True(t, seen.all[3].has(flagEndStream))
		require.Equal(t, byte(frameReset), seen.all[4].kind)
	}
}

// No bytes from outside may confuse a follower, or make a call hold more than it received.
func FuzzAConnectionFollowsAnyBytes(f *testing.F) {
	f.Add([]byte(http2.ClientPreface), uint8(3))
	f.Add(append(make([]byte, prefaceBytes), 0, 0, 6, 1, 4, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 0, 0, 3, 0, 8, 0, 0, 0, 1, 1, 0, 0), uint8(1))
	f.Fuzz(func(t *testing.T, wire []byte, piece uint8) {
		all := newConnections(newMemory(0), newStrangers(0), nil)
		c := newConnection(all, nil)
		account := all.memory.account("k")
		for rest := wire; len(rest) > 0; {
			n := min(len(rest), 1+int(piece))
			c.mutex.Lock()
			c.in.follow(rest[:n])
			for _, e := range c.open {
				e.account = account
				e.settle()
			}
			c.mutex.Unlock()
			rest = rest[n:]
		}
		for number := range c.open {
			c.forget(number)
		}
		require.Zero(t, account.requests.Load())
		require.Zero(t, all.memory.total.requests.Load())
	})
}
