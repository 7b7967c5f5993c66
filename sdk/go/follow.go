package openintent

import (
	"context"
	"errors"
	"io"
	"iter"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	openintentv1 "openintent/gen/openintent/v1"
)

// positionHeader contains the position after which a stream begins.
const positionHeader = "openintent-position"

// remembered is how many message ids a follower keeps, to recognize repetitions. Only messages from before the cursor
// can arrive again: the open requests to a role that the agent has taken. The positions of all other messages rise.
const remembered = 4096

// FollowOptions select what to follow; the zero value means everything from now on.
type FollowOptions struct {
	// After starts after a Message.Position; nil means from now on.
	After *int64
	// WithoutOwn leaves out the client's own messages.
	WithoutOwn bool
	// Attention makes the server say what each message asks of the client's agent: Message.Attention.
	Attention bool
	// Annotations lets Following.Events yield what happens to messages after they were sent.
	Annotations bool
}

// Messages yields the channel's messages from now on, or after a position, until the channel is closed and it has
// yielded everything. It resumes by itself after a lost connection, and yields no message twice. It yields any other
// failure, and then ends.
func (c *Channel) Messages(ctx context.Context, options FollowOptions) iter.Seq2[*Message, error] {
	return func(yield func(*Message, error) bool) {
		following, err := c.Follow(ctx, options)
		if err != nil {
			yield(nil, err)
			return
		}
		defer following.Close()
		for message, err := range following.Messages() {
			if !yield(message, err) {
				return
			}
		}
	}
}

// Following is a followed channel.
type Following struct {
	client  *Client
	channel string
	without string // the agent whose messages are left out; "" for none
	include []string

	ctx      context.Context
	cancel   context.CancelFunc
	stream   stream
	position int64
	begun    time.Time
	began    bool // the server has accepted a stream
	seen     *recent
	waits    *waits
}

// errNoBeginning is the error for a server that accepts a stream without its position, which no OpenIntent server
// does.
var errNoBeginning = &Error{Code: "INTERNAL", Message: "The server accepted a stream without giving the position where it begins."}

type stream = grpc.ServerStreamingClient[openintentv1.SubscribeResponse]

// Follow begins to follow the channel and returns once the server has accepted: Messages yields everything that is
// sent after that. Close ends it.
func (c *Channel) Follow(ctx context.Context, options FollowOptions) (*Following, error) {
	f := &Following{client: c.client, channel: c.ID, seen: newRecent(remembered), waits: c.client.newWaits(), position: -1}
	f.ctx, f.cancel = context.WithCancel(ctx)
	if options.After != nil {
		f.position = *options.After
	}
	if options.WithoutOwn {
		f.without = firstOf(c.client.AgentID(), "operator")
	}
	if options.Attention {
		f.include = append(f.include, includeAttention)
	}
	if options.Annotations {
		f.include = append(f.include, includeAnnotations)
	}
	f.begun = time.Now()
	if err := f.connect(); err != nil {
		f.cancel()
		return nil, err
	}
	f.began = true
	return f, nil
}

// Position returns the position up to which everything was yielded; FollowOptions.After takes it.
func (f *Following) Position() int64 { return f.position }

// Close ends the following.
func (f *Following) Close() { f.cancel() }

// Messages yields the messages as they arrive. Only one goroutine may use it; it can leave the loop and come back.
func (f *Following) Messages() iter.Seq2[*Message, error] {
	return func(yield func(*Message, error) bool) {
		for event, err := range f.Events() {
			if event.Message == nil && err == nil {
				continue // an annotation
			}
			if !yield(event.Message, err) {
				return
			}
		}
	}
}

// Events does what Messages does, and also yields annotations if FollowOptions.Annotations asks for them.
func (f *Following) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			event, err := f.next()
			if errors.Is(err, io.EOF) || !yield(event, err) || err != nil {
				return
			}
		}
	}
}

// connect opens the stream after the position, with as many attempts as necessary.
func (f *Following) connect() error {
	for {
		err := f.open()
		if err == nil {
			f.client.outage.over()
			return nil
		}
		if err := f.wait(err); err != nil {
			return err
		}
	}
}

// wait pauses before the next attempt, or returns why there is none.
func (f *Following) wait(err error) error {
	if err := f.ctx.Err(); err != nil {
		return err
	}
	if err = FromError(err); !retryable(err) {
		return err
	}
	wait := f.waits.next(err)
	f.client.outage.failed(err)
	timeout := f.client.timeToConnect()
	if until := f.begun.Add(timeout); !f.began && timeout > 0 && unconnected(err) && time.Now().Add(wait).After(until) {
		return f.client.away(patience{begun: f.begun, until: until}, err)
	}
	f.client.retries(err)
	return pause(f.ctx, wait)
}

func (f *Following) open() error {
	request := &openintentv1.SubscribeRequest{Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: f.channel}, Include: f.include}
	if f.position >= 0 {
		request.AfterPosition = &f.position
	}
	opened, err := f.client.raw.Messages.Subscribe(f.ctx, request)
	if err != nil {
		return err
	}
	header, err := opened.Header()
	if err != nil {
		return err
	}
	beginning, accepted := beginningOf(header)
	if !accepted {
		if _, err := opened.Recv(); err != nil {
			return err
		}
		return errNoBeginning
	}
	if f.position < 0 {
		f.position = beginning
	}
	f.stream = opened
	return nil
}

// beginningOf returns the position after which a stream begins; false when the server refused the stream.
func beginningOf(header metadata.MD) (int64, bool) {
	for _, value := range header.Get(positionHeader) {
		if position, err := strconv.ParseInt(value, 10, 64); err == nil {
			return position, true
		}
	}
	return 0, false
}

// next returns the next message or annotation, or io.EOF when the channel is closed and drained.
func (f *Following) next() (Event, error) {
	for {
		delivery, err := f.stream.Recv()
		if err == nil {
			f.waits.again()
			if event := f.take(delivery); event != (Event{}) {
				return event, nil
			}
			continue
		}
		if err := f.wait(err); errors.Is(err, ErrChannelClosed) {
			return Event{}, io.EOF
		} else if err != nil {
			return Event{}, err
		}
		if err := f.connect(); errors.Is(err, ErrChannelClosed) {
			return Event{}, io.EOF
		} else if err != nil {
			return Event{}, err
		}
	}
}

// take moves the cursor and returns the delivery's message or annotation. It returns neither when the delivery has none, or when it was
// already yielded or must be left out.
func (f *Following) take(delivery *openintentv1.SubscribeResponse) Event {
	repeated := !delivery.GetBackfill() && !delivery.GetCaughtUp() && delivery.GetPosition() <= f.position
	f.position = max(f.position, delivery.GetPosition())
	if a := delivery.GetAnnotation(); a != nil && !repeated {
		return Event{Annotation: annotationOf(a)}
	}
	m := delivery.GetMessage()
	if m == nil || repeated || !f.seen.add(m.GetId()) || m.GetSender() == f.without {
		return Event{}
	}
	message := f.client.message(m)
	message.IntentID, message.ChannelName, message.Position =
		delivery.GetIntentId(), delivery.GetChannelName(), delivery.GetPosition()
	message.Attention = attentionOf(delivery.GetAttention())
	return Event{Message: message}
}

// recent is a bounded set of ids; it forgets the oldest ones.
type recent struct {
	known map[string]struct{}
	ring  []string
	next  int
}

func newRecent(size int) *recent {
	return &recent{known: make(map[string]struct{}), ring: make([]string, size)}
}

func (r *recent) has(id string) bool {
	_, known := r.known[id]
	return known
}

// add adds an id; it returns false when the id was already known.
func (r *recent) add(id string) bool {
	if r.has(id) {
		return false
	}
	delete(r.known, r.ring[r.next])
	r.known[id], r.ring[r.next] = struct{}{}, id
	r.next = (r.next + 1) % len(r.ring)
	return true
}
