package c2a

import (
	"context"

	"github.com/coder/websocket"
)

// wire carries whole messages to a harness and back. One goroutine reads; any may write.
type wire interface {
	// read waits for the next message. done gives back the memory that the message takes.
	read(ctx context.Context) (text []byte, done func(), _ error)
	// write sends a message. It fails if the harness does not take it in time.
	write(ctx context.Context, text []byte) error
	// alive asks the harness for a sign of life and waits for it.
	alive(ctx context.Context) error
	// close ends the connection and tells the harness why, as far as the transport can.
	close(why closing)
}

// closing is why a connection ends.
type closing struct {
	status websocket.StatusCode
	reason string
}
