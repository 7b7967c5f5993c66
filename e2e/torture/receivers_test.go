package torture

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"openintent/e2e/harness"
)

// following is a client that receives, with its state.
type following struct {
	*client
	receiver *Receiver
	// cursor is the position after which to continue; it is nil before the first acceptance.
	cursor *int64
	// mayBeDenied is true when the agent's rights come and go.
	mayBeDenied bool
	// accepts is true when the receiver begins to follow at its first acceptance. begun ensures that this happens once.
	accepts bool
	begun   sync.Once
	// answers is true for agents that answer the questions they receive.
	answers bool
}

// startReceiver keeps a receiver connected until the context ends. connect returns when its connection has ended for any
// reason.
func (w *world) startReceiver(ctx context.Context, f *following, connect func(f *following, ctx context.Context) error) {
	if f.client == nil {
		f.client = w.client(f.receiver.Agent, f.receiver.Name)
	}
	if f.receiver.Operator {
		f.agent = ""
	}
	if f.accepts && !f.mayBeDenied {
		w.accepted.Add(1)
	}
	w.receivers.Go(func() {
		for ctx.Err() == nil {
			begun := time.Now()
			err := connect(f, ctx)
			switch {
			case err == nil || transient(err) || ctx.Err() != nil:
			case f.mayBeDenied && harness.Code(err) == codes.PermissionDenied:
			default:
				f.problem("%s, continuing after %v, ended: %v", f.receiver.Name, f.cursorText(), err)
			}
			if err != nil || time.Since(begun) < time.Millisecond {
				f.rest(ctx, 10*time.Millisecond, 120*time.Millisecond)
			}
		}
	})
}

func (f *following) cursorText() any {
	if f.cursor == nil {
		return "nothing"
	}
	return *f.cursor
}

// accept records that the receiver follows from now on.
func (f *following) accept() {
	if !f.accepts {
		return
	}
	f.begun.Do(func() {
		f.follow(f.receiver)
		if !f.mayBeDenied {
			f.accepted.Done()
		}
	})
}

// lifetime returns how many deliveries a connection takes before its client connects elsewhere.
func (f *following) lifetime() int { return 20 + f.random.IntN(400) }

// take records deliveries, and answers the questions among them.
func (f *following) take(ctx context.Context, connection *Connection, deliveries ...Delivery) {
	f.deliver(f.receiver, connection, deliveries...)
	for _, d := range deliveries {
		m := d.Message
		if !f.answers || m.Kind != Request || m.Sender == f.agent {
			continue
		}
		if m.To == f.agent || strings.HasPrefix(m.To, "role:") {
			f.answerers.answer(ctx, f.client, m)
		}
	}
}

// answering makes agents answer questions in the background, each question once, until end is called.
type answering struct {
	mutex   sync.Mutex
	running sync.WaitGroup
	known   map[string]bool // by agent and question
	ended   bool
}

func (a *answering) answer(ctx context.Context, c *client, question *Message) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	key := c.agent + " " + question.ID
	if a.ended || a.known[key] {
		return
	}
	a.known[key] = true
	its := c.client(c.agent, key)
	a.running.Go(func() { its.answer(ctx, question) })
}

// end prevents further answers, and waits for the running ones.
func (a *answering) end() {
	a.mutex.Lock()
	a.ended = true
	a.mutex.Unlock()
	a.running.Wait()
}

// startReceivers starts all receivers, and returns when all of them whose rights do not change are accepted.
func (w *world) startReceivers(ctx context.Context) {
	plain, restricted := w.intents[0], w.intents[1]
	for _, agent := range []string{anna, bert, carl, dora, mona} {
		hasAccess := agent != dora && agent != mona
		w.followIntent(ctx, agent, plain)
		w.listenIntent(ctx, agent, plain)
		w.followChannel(ctx, agent, w.channel(plain, "open"))
		w.poll(ctx, agent, w.channel(plain, "audited"))
		w.listenChannel(ctx, agent, w.channel(plain, "open"))
		if hasAccess {
			w.followIntent(ctx, agent, restricted)
			w.listenChannel(ctx, agent, w.channel(restricted, "audited"))
		}
		for _, at := range []place{w.channel(plain, "explicit"), w.channel(restricted, "explicit")} {
			if slices.Contains(at.members, agent) {
				w.followChannel(ctx, agent, at)
				w.poll(ctx, agent, at)
			}
		}
	}
	w.followChannel(ctx, mona, w.channel(plain, "explicit"))
	for _, agent := range []string{anna, carl, mona} {
		w.followAgent(ctx, agent)
		w.readInbox(ctx, agent)
		w.receivePosts(ctx, agent, scope{})
	}
	w.listenAgent(ctx, bert)
	w.listenAgent(ctx, dora)
	w.readInbox(ctx, bert)
	w.subscribe(ctx, anna, scope{}, 2)
	w.subscribe(ctx, bert, scope{intent: restricted}, 2)
	w.subscribe(ctx, mona, scope{intent: plain}, 1)
	w.subscribe(ctx, answerer, scope{}, 2)
	w.fetch(ctx, carl, scope{channel: w.channel(plain, "open").id})
	w.fetch(ctx, bert, scope{})
	w.listenSubscription(ctx, anna, scope{intent: plain})
	w.listenSubscription(ctx, dora, scope{intent: plain})
	w.receivePosts(ctx, bert, scope{intent: plain})
	w.receivePosts(ctx, dora, scope{channel: w.channel(plain, "audited").id})
	w.followIntent(ctx, "", plain)
	w.followIntent(ctx, "", restricted)
	for _, at := range w.channels {
		w.followChannel(ctx, solverNames()[0], at)
		w.listenChannel(ctx, solverNames()[1], at)
		if at.name == "open" {
			w.poll(ctx, answerer, at)
		} else {
			w.followChannel(ctx, answerer, at)
		}
	}
	if !w.plain {
		for _, agent := range comerNames() {
			w.comeAndGo(ctx, agent)
		}
	}
	accepted := make(chan struct{})
	go func() {
		w.accepted.Wait()
		close(accepted)
	}()
	select {
	case <-accepted:
	case <-time.After(harness.Patience):
		w.t.Fatalf("some receivers were not accepted: %v", w.history.Problems)
	}
}

// newFollowing makes a receiver of an agent, or of the operator when the name is empty.
func (w *world) newFollowing(agent, transport, of string, guarantee Guarantee) *following {
	f := &following{
		receiver: &Receiver{Agent: agent, Transport: transport, Guarantee: guarantee, Operator: agent == ""},
		answers:  agent == answerer || slices.Contains(solverNames(), agent), mayBeDenied: agent == mona, accepts: true,
	}
	name := agent
	if agent == "" {
		name = "the operator"
	}
	f.receiver.Name = name + "'s " + transport + " of " + of
	return f
}

// includeAnnotations is the word by which a receiver asks for annotations.
const includeAnnotations = "annotations"

// annotated reports whether an agent's streams of channels and intents ask for annotations. Some agents' streams do not, to show
// that they get none.
func (w *world) annotated(agent string) bool { return !w.plain && agent != bert && agent != answerer }

// label returns a readable name for an intent.
func (w *world) label(intent string) string {
	if intent == w.intents[0] {
		return "the plain intent"
	}
	return "the restricted intent"
}
