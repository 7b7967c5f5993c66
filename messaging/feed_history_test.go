package messaging

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
)

// happening is one thing that happened in an intent, as a test did it.
type happening struct {
	position int64
	event    string // a logged event's id; empty for a message
	// id, channel, sender, target, ordinal and lasts are a message's; lasts is false once its time has run out.
	id      string
	channel *place
	sender  string
	target  string
	ordinal int64
	lasts   bool
}

// place is a channel of a history, and what its rules are.
type place struct {
	id      string
	members []string // nil: everyone
	audited bool
	most    int64
	sent    int64
	deleted bool
}

// chronicle is the random history of one intent.
type chronicle struct {
	*house
	intentID string
	places   []*place
	roles    map[string]string
	happened []happening
}

// agents of a chronicle, besides the operator; tess and bob hold roles.
var chroniclers = []string{"alice", "bob", "carol", "tess"}

func newChronicle(t *testing.T, h *house) *chronicle {
	c := &chronicle{house: h, intentID: h.intent(t), roles: map[string]string{"tess": "tester", "bob": "writer"}}
	for agent, role := range c.roles {
		h.register(t, agent, role)
	}
	for i, p := range []*place{
		{most: 1000},
		{most: 1000, audited: true},
		{most: 1000, members: []string{"alice", "bob"}},
		{most: 1000, members: []string{"carol", "tess", "alice"}, audited: true},
		{most: 3, audited: true},
		{most: 1000, audited: true, deleted: true},
	} {
		policy := openintentv1.MemberPolicy_MEMBER_POLICY_INTENT
		if p.members != nil {
			policy = openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT
		}
		p.id = h.create(t, &createRequest{
			IntentId: c.intentID, Name: fmt.Sprint("place", i), MemberPolicy: &policy, Members: p.members,
			Options: &optionsInput{Audit: &p.audited, MaxMessages: &p.most},
		})
		c.places = append(c.places, p)
	}
	events, err := h.intents.ListEvents(asOperator(), &openintentv1.ListEventsRequest{
		IntentId: c.intentID, Order: ptr("asc"), Limit: ptr(int32(100)),
	})
	require.NoError(t, err)
	for i, event := range events.GetEvents() { // so far there are no others
		c.happened = append(c.happened, happening{position: int64(i + 1), event: event.GetId()})
	}
	require.Len(t, c.happened, int(h.positionOf(t, c.places[0].id)))
	return c
}

// go on with one thing more.
func (c *chronicle) proceed(t *testing.T) {
	defer func() { require.Equal(t, c.happened[len(c.happened)-1].position, c.positionOf(t, c.places[0].id)) }()
	next := happening{position: c.positionOf(t, c.places[0].id) + 1, lasts: true}
	if rand.IntN(4) == 0 {
		next.event = c.log(t, c.intentID, fmt.Sprint("thought", rand.IntN(3))).GetId()
		c.happened = append(c.happened, next)
		return
	}
	p := c.places[rand.IntN(len(c.places))]
	who := p.members
	if who == nil {
		who = chroniclers
	}
	next.channel, next.sender = p, who[rand.IntN(len(who))]
	targets := append([]string{"", "*", "role:tester", "role:writer", "role:nobody"}, who...)
	for next.target = next.sender; next.target == next.sender; {
		next.target = targets[rand.IntN(len(targets))]
	}
	req := &sendRequest{ChannelId: p.id, MessageType: ptr(notify), Payload: content("x")}
	if next.target != "" {
		req.To = &next.target
		if next.target != "*" && rand.IntN(2) == 0 {
			req.MessageType = ptr(request)
		}
	}
	if rand.IntN(6) == 0 {
		next.lasts, req.ExpiresAt = false, c.in(time.Minute)
	}
	next.id = c.send(t, next.sender, req).GetId()
	p.sent++
	next.ordinal = p.sent
	c.happened = append(c.happened, next)
}

// finish lets time pass and removes what is to be removed.
func (c *chronicle) finish(t *testing.T) {
	c.clock.Advance(time.Hour)
	for _, p := range c.places {
		if p.deleted {
			c.deleteChannel(t, p.id)
		}
	}
}

// shows tells, by the words of the contract, whether a viewer is shown what happened.
func (c *chronicle) shows(viewer string, what happening) bool {
	if what.event != "" {
		return true
	}
	p := what.channel
	switch {
	case p.deleted || what.ordinal <= p.sent-p.most:
		return false
	case viewer == caller.Operator:
		return true
	case p.members != nil && !has(p.members, viewer):
		return false
	case what.sender == viewer:
		return true
	case !what.lasts:
		return false
	}
	return what.target == "" || what.target == "*" || what.target == viewer ||
		c.roles[viewer] != "" && what.target == "role:"+c.roles[viewer]
}

func has(list []string, name string) bool {
	for _, one := range list {
		if one == name {
			return true
		}
	}
	return false
}

// expected describes what a viewer is to be shown of what happened after a position.
func (c *chronicle) expected(viewer string, after int64) []string {
	shown := []string{}
	for _, what := range c.happened {
		if what.position <= after || !c.shows(viewer, what) {
			continue
		}
		switch {
		case what.event != "":
			shown = append(shown, fmt.Sprint(what.position, " event ", what.event))
		case what.channel.audited:
			shown = append(shown, fmt.Sprint(what.position, " audited ", what.id))
		default:
			shown = append(shown, fmt.Sprint(what.position, " message ", what.id))
		}
	}
	return shown
}

func describe(position int64, message *wireMessage, event, audit *openintentv1.Event) string {
	switch {
	case event != nil:
		return fmt.Sprint(position, " event ", event.GetId())
	case audit != nil:
		return fmt.Sprint(position, " audited ", audit.GetPayload().GetFields()["message_id"].GetStringValue())
	}
	return fmt.Sprint(position, " message ", message.GetId())
}

func callAs(viewer string) context.Context {
	if viewer == caller.Operator {
		return asOperator()
	}
	return as(viewer)
}

// fed describes what a viewer's feed gives after a position, in pages of some size.
func (c *chronicle) fed(t *testing.T, viewer string, after int64, limit int) []string {
	feed := c.feedOf(t, c.places[0].id, viewer)
	feed.By.IsOperator = viewer == caller.Operator
	shown := []string{}
	for _, entry := range c.readAll(t, feed, after, limit) {
		message, event, audit, err := entry.ToWire()
		require.NoError(t, err)
		shown = append(shown, describe(entry.Position, message, event, audit))
	}
	return shown
}

// subscribeIntent begins a stream of an intent, which ends with the test at the latest.
func (h *house) subscribeIntent(ctx context.Context, t *testing.T, intentID string, after *int64) *streaming {
	f, err := h.trySubscribe(ctx, &openintentv1.SubscribeRequest{
		Scope: &openintentv1.SubscribeRequest_IntentId{IntentId: intentID}, AfterPosition: after,
	})
	require.NoError(t, err)
	t.Cleanup(f.cancel)
	return f
}

// untilCaughtUp receives what comes until the stream says that it has caught up.
func (f *streaming) untilCaughtUp(t *testing.T) (shown []string) {
	shown = []string{}
	for {
		select {
		case d := <-f.deliveries:
			if !f.received(d) {
				return shown
			}
			shown = append(shown, describe(d.GetPosition(), d.GetMessage(), d.GetEvent(), d.GetAuditEvent()))
		case err := <-f.ended:
			require.NoError(t, err)
		case <-time.After(patience):
			require.Fail(t, "the stream does not catch up")
		}
	}
}

// Every viewer's feed and stream of an intent holds exactly what it may see and all events, in order, whatever position it
// begins after, while it happens and afterwards.
func TestEveryViewerIsShownExactlyWhatIsItsToSee(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		c := newChronicle(t, h)
		viewers := append([]string{caller.Operator}, chroniclers...)
		live := make(map[string]*streaming)
		begin := c.happened[len(c.happened)-1].position
		for _, viewer := range viewers {
			live[viewer] = h.subscribeIntent(callAs(viewer), t, c.intentID, nil)
			require.Equal(t, []int64{begin}, live[viewer].marks)
		}
		const count = 60
		for range count {
			c.proceed(t)
			what := c.happened[len(c.happened)-1]
			for _, viewer := range viewers {
				soon := what // while it happens nothing is over yet
				soon.lasts = true
				if soon.event == "" {
					soon.channel = ptr(*what.channel)
					soon.channel.deleted = false
				}
				if c.shows(viewer, soon) {
					require.Equal(t, what.position, live[viewer].next(t).GetPosition(), viewer)
				}
			}
		}
		c.finish(t)
		last := c.happened[len(c.happened)-1].position
		for _, viewer := range viewers {
			for after := range last + 1 {
				expected := c.expected(viewer, after)
				require.Equal(t, expected, c.fed(t, viewer, after, 1+rand.IntN(20)), "%s after %d", viewer, after)
				f := h.subscribeIntent(callAs(viewer), t, c.intentID, &after)
				require.Equal(t, expected, f.untilCaughtUp(t), "%s after %d", viewer, after)
				require.Equal(t, []int64{last}, f.marks)
				f.cancel()
				require.ErrorIs(t, f.end(t), context.Canceled)
			}
			require.Len(t, live[viewer].marks, 1)
		}
	})
}
