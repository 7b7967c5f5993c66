package quiet

import (
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"

	openintentv1 "openintent/gen/openintent/v1"
)

// acts are what may happen in a conversation. What stands here several times happens more often.
func (w *world) acts() []func(*rapid.T) {
	return []func(*rapid.T){
		w.say, w.say, w.say, w.say, w.say, w.say, w.turn, w.turn, w.turn, w.turn, w.edit, w.edit, w.edit, w.answer, w.react, w.claim, w.claim,
		w.release, w.discharge, w.remove, w.wait, w.wait, w.wait, w.sweep, w.sweep, w.restart,
	}
}

// evenly draws one of up to 32 things. Package rapid draws the first ones of a list more often than the last ones.
func evenly[T any](t *rapid.T, things []T) T {
	number := 0
	for range 5 {
		if number *= 2; rapid.Bool().Draw(t, "bit") {
			number++
		}
	}
	return things[number%len(things)]
}

// words are what agents write. Some of it mentions somebody.
var words = []string{"it is done", "more of it", "@bob, what do you say?", "@carol and @bob, look", "thanks", "@role:reviewer, look"}

// say sends a message of any kind.
func (w *world) say(t *rapid.T) {
	from := evenly(t, agents)
	to := evenly(t, []string{"bob", "carol", "role:reviewer", "role:reviewer", "*", "*", "*", "*"})
	if to == from {
		to = "*"
	}
	d := &draft{
		ChannelId: rapid.SampledFrom(w.channels).Draw(t, "channel"), To: &to, Payload: content(evenly(t, words)),
		MessageType: openintentv1.MessageType_MESSAGE_TYPE_NOTIFY.Enum(),
	}
	if to == "*" {
		d.MessageType = openintentv1.MessageType_MESSAGE_TYPE_BROADCAST.Enum()
	}
	if rapid.IntRange(0, 2).Draw(t, "is a reply") == 0 {
		w.put(t, d)
	}
	if kind := rapid.SampledFrom([]string{"", "", "progress", "ack"}).Draw(t, "kind"); kind != "" {
		d.Kind = &kind
	}
	if rapid.IntRange(0, 3).Draw(t, "is urgent") == 0 {
		d.Priority = openintentv1.Priority_PRIORITY_URGENT.Enum()
	}
	if rapid.IntRange(0, 5).Draw(t, "means less") == 0 {
		d.Directedness = openintentv1.Directedness_DIRECTEDNESS_AMBIENT.Enum()
	}
	if to != "*" && rapid.Bool().Draw(t, "asks") {
		w.ask(t, d)
	}
	w.send(t, from, d)
}

// ask makes a draft a request.
func (w *world) ask(t *rapid.T, d *draft) {
	d.MessageType = openintentv1.MessageType_MESSAGE_TYPE_REQUEST.Enum()
	collects := []string{"", "any", "one", "all", "all"}
	if strings.HasPrefix(d.GetTo(), "role:") {
		collects = append(collects, "quorum")
	}
	switch rapid.SampledFrom(collects).Draw(t, "collects") {
	case "any":
		d.Collect = structpb.NewStringValue("any")
	case "one":
		d.Collect = structpb.NewStringValue("one")
	case "all":
		d.Collect = structpb.NewStringValue("all")
	case "quorum":
		d.Collect = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"quorum": structpb.NewNumberValue(2)}})
	}
	if rapid.IntRange(0, 2).Draw(t, "obliges") == 0 {
		d.Obligation = &openintentv1.Obligation{}
	}
	if rapid.IntRange(0, 5).Draw(t, "expires") == 0 {
		d.ExpiresInSeconds = new(40.0)
	}
}

// put puts a draft under a message.
func (w *world) put(t *rapid.T, d *draft) {
	if len(w.messages) > 0 {
		parent := rapid.SampledFrom(w.messages).Draw(t, "parent")
		d.ChannelId, d.ParentId = parent.GetChannelId(), new(parent.GetId())
	}
}

func (w *world) send(t *rapid.T, from string, d *draft) {
	r := w.any()
	m, err := r.Messaging.SendMessage(r.As(from), d)
	if accepted(t, err) {
		w.cause = cause{"say", from, m.GetId()}
		w.note(m, d.Obligation != nil)
	}
}

// turn lets bob and alice talk to each other alone, which the brake ends soon. Each may oblige the other meanwhile.
func (w *world) turn(t *rapid.T) {
	for i := range rapid.IntRange(2, 5).Draw(t, "turns") {
		from, to := "bob", "alice"
		if i%2 == 1 {
			from, to = to, from
		}
		d := &draft{
			ChannelId: w.channels[0], To: &to, Payload: content("go on"), MessageType: openintentv1.MessageType_MESSAGE_TYPE_NOTIFY.Enum(),
		}
		if rapid.Bool().Draw(t, "asks") {
			d.MessageType = openintentv1.MessageType_MESSAGE_TYPE_REQUEST.Enum()
		}
		if d.GetMessageType() == openintentv1.MessageType_MESSAGE_TYPE_REQUEST && rapid.Bool().Draw(t, "obliges") {
			d.Obligation = &openintentv1.Obligation{}
		}
		w.send(t, from, d)
	}
}

// some returns a message that an agent sent.
func (w *world) some(t *rapid.T) *said {
	sent := slices.DeleteFunc(slices.Clone(w.messages), func(m *said) bool { return m.GetSender() == "system" })
	if len(sent) == 0 {
		return nil
	}
	if recent := len(sent) - 6; recent > 0 { // what is old matters less
		sent = sent[recent:]
	}
	return evenly(t, sent)
}

// edit edits a message, rather one that waits for a digest.
func (w *world) edit(t *rapid.T) {
	m := w.some(t)
	digests := w.subscribers[0] // of bob
	waits := slices.DeleteFunc(slices.Clone(w.messages), func(m *said) bool {
		return m.GetTo() != "" && m.GetTo() != "*" || m.GetSender() == "bob" || digests.full[m.GetId()] || digests.summed[m.GetId()]
	})
	if len(waits) > 0 && rapid.Bool().Draw(t, "waits") {
		m = waits[len(waits)-1]
	}
	if m == nil {
		return
	}
	r := w.any()
	_, err := r.Messaging.UpdateMessage(r.As(m.GetSender()), &openintentv1.UpdateMessageRequest{
		ChannelId: m.GetChannelId(), MessageId: m.GetId(), Payload: content(evenly(t, words)), Supersede: true,
	})
	if accepted(t, err) {
		w.cause, m.at = cause{"edit", m.GetSender(), m.GetId()}, w.now
		for _, s := range w.subscribers {
			s.edited[m.GetId()] = s.summed[m.GetId()]
		}
	}
}

func (w *world) answer(t *rapid.T) {
	if m := w.some(t); m != nil {
		r, by := w.any(), evenly(t, agents)
		answer, err := r.Messaging.ReplyMessage(r.As(by), &openintentv1.ReplyMessageRequest{
			ChannelId: m.GetChannelId(), MessageId: m.GetId(), Payload: content("yes"),
		})
		if accepted(t, err) {
			w.cause = cause{"answer", by, m.GetId()}
			w.note(answer, false)
		}
	}
}

func (w *world) react(t *rapid.T) {
	if m := w.some(t); m != nil {
		r, by := w.any(), evenly(t, agents)
		_, err := r.Claims.AddReaction(r.As(by), &openintentv1.AddReactionRequest{
			ChannelId: m.GetChannelId(), MessageId: m.GetId(),
			Signal: rapid.SampledFrom([]string{"seen", "working", "unclear", "declined"}).Draw(t, "signal"),
		})
		accepted(t, err)
		w.cause = cause{"react", by, m.GetId()}
	}
}

func (w *world) claim(t *rapid.T) {
	if m := w.some(t); m != nil {
		r, by := w.any(), evenly(t, agents)
		claim, err := r.Claims.ClaimMessage(r.As(by), &openintentv1.ClaimMessageRequest{ChannelId: m.GetChannelId(), MessageId: m.GetId()})
		if accepted(t, err) {
			w.cause, w.fences[[2]string{by, m.GetId()}] = cause{"claim", by, m.GetId()}, claim.GetFence()
		}
	}
}

func (w *world) release(t *rapid.T) {
	for _, m := range w.messages {
		for _, by := range agents {
			fence, claimed := w.fences[[2]string{by, m.GetId()}]
			if !claimed || !rapid.Bool().Draw(t, "releases") {
				continue
			}
			r := w.any()
			_, err := r.Claims.ReleaseClaim(r.As(by), &openintentv1.ReleaseClaimRequest{
				ChannelId: m.GetChannelId(), MessageId: m.GetId(), Fence: fence,
			})
			accepted(t, err)
			delete(w.fences, [2]string{by, m.GetId()})
			w.cause = cause{"release", by, m.GetId()}
			return
		}
	}
}

func (w *world) discharge(t *rapid.T) {
	for _, m := range w.messages {
		if m.obliges && rapid.Bool().Draw(t, "discharges") {
			r := w.any()
			_, err := r.Claims.DischargeObligation(r.As(m.GetSender()), &openintentv1.DischargeObligationRequest{
				ChannelId: m.GetChannelId(), MessageId: m.GetId(),
			})
			accepted(t, err)
			w.cause = cause{"discharge", m.GetSender(), m.GetId()}
			return
		}
	}
}

// remove deletes a message.
func (w *world) remove(t *rapid.T) {
	if m := w.some(t); m != nil && rapid.Bool().Draw(t, "deletes") {
		r := w.any()
		_, err := r.Messaging.DeleteMessage(r.As(m.GetSender()), &openintentv1.DeleteMessageRequest{
			ChannelId: m.GetChannelId(), MessageId: m.GetId(),
		})
		accepted(t, err)
		w.cause = cause{"remove", m.GetSender(), m.GetId()}
	}
}

func (w *world) wait(t *rapid.T) {
	milliseconds := evenly(t, []int{300, 2_900, 3_000, 9_000, 31_000, 100_000, 660_000})
	w.cause = cause{act: "wait"}
	w.pass(t, time.Duration(milliseconds)*time.Millisecond)
}

// sweep does what is due, and notes what the server says of itself. It begins with a wait, so that something is due.
func (w *world) sweep(t *rapid.T) {
	w.wait(t)
	r := w.any()
	require.NoError(t, r.Claims.SweepClaims(r.Life))
	require.NoError(t, r.Claims.SweepObligations(r.Life))
	w.cause = cause{act: "sweep"}
	for _, intent := range w.intents {
		list, err := r.Channels.ListChannels(asOperator(r), &openintentv1.ListChannelsRequest{IntentId: intent})
		require.NoError(t, err)
		for _, channel := range list.GetChannels() {
			if channel.GetName() != "_system" {
				continue
			}
			page, err := r.Messaging.ListMessages(asOperator(r), &openintentv1.ListMessagesRequest{
				ChannelId: channel.GetId(), Limit: new(int32(1000)),
			})
			require.NoError(t, err)
			for _, m := range page.GetMessages() {
				w.note(m, false)
			}
		}
	}
}

// restart restarts a server.
func (w *world) restart(t *rapid.T) {
	if rapid.IntRange(0, 2).Draw(t, "restarts") == 0 {
		require.NoError(t, w.any().Restart())
		w.cause = cause{act: "restart"}
	}
}
