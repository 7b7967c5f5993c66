package concerns

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/fault/faulttest"
)

// busy fills a house with concerns of all kinds that need no webhook.
func (h *house) busy(t *testing.T) {
	t.Helper()
	h.register(t, "bob", "worker")
	h.coordinate(t, "alice")
	sub := h.subscribe(t, "bob", &openintentv1.CreateSubscriptionRequest{IntentId: &h.intent})
	for i := range 4 {
		h.ask(t, "alice", "bob", 0)
		h.ask(t, "bob", "alice", time.Hour)
		h.ask(t, "carol", "bob", 0, on(h.newChannel(t, "carol", &openintentv1.CreateChannelRequest{
			IntentId: h.newIntent(t, "carol"), Name: fmt.Sprint("other ", i),
		})))
		h.ask(t, "bob", "nobody", 20*time.Second)
		h.ask(t, "alice", "role:worker", time.Minute, obliging(""))
	}
	h.die(t, 1, sub)
	h.steps(t, 5)
	h.expire(t)
	h.ring(t, h.budgeted(t), nil)
	h.task(t, "sort", "bob")
	h.lose(t, "bob")
}

// Pages of any size, and pages that end early because they have looked at enough, give the same in the same order.
func TestPagesGiveTheSame(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.busy(t)
		hasty := New(Config{DB: h.db, Intents: h.intents, Channels: h.channels, Here: h.here, RowsAtMost: 2, JudgedAtMost: 3})
		for name, who := range map[string]caller.Caller{
			"alice": {Agent: "alice"}, "bob": {Agent: "bob"}, "carol": {Agent: "carol"}, "the operator": {Agent: caller.Operator, IsOperator: true},
		} {
			all := h.all(t, asCaller(who), &listed{}, 100)
			require.NotEmpty(t, all, name)
			kinds := make(map[kind]bool)
			ids := make(map[string]bool)
			for i, one := range all {
				require.False(t, i > 0 && one.GetSince().AsTime().Before(all[i-1].GetSince().AsTime()), "the oldest comes first")
				require.False(t, ids[one.GetId()], "each comes once")
				ids[one.GetId()], kinds[one.GetKind()] = true, true
			}
			if name == "the operator" {
				require.Len(t, kinds, 6, "all but questions, and webhooks")
			}
			for _, size := range []int32{1, 3} {
				requireSame(t, all, h.all(t, asCaller(who), &listed{}, size))
			}
			whole := h.Service
			h.Service = hasty
			requireSame(t, all, h.all(t, asCaller(who), &listed{}, 2))
			h.Service = whole
			var byKind int
			for k := range kinds {
				byKind += len(h.of(t, asCaller(who), k))
			}
			require.Len(t, all, byKind, "the filter by kind")
		}
	})
}

func requireSame(t *testing.T, wanted, got []*wire) {
	t.Helper()
	require.Len(t, got, len(wanted))
	for i := range wanted {
		require.True(t, proto.Equal(wanted[i], got[i]), "%v\n%v", wanted[i], got[i])
	}
}

func TestAFilterByIntentAndAgent(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.busy(t)
		other := h.newIntent(t, "alice")
		channel := h.newChannel(t, "alice", &openintentv1.CreateChannelRequest{IntentId: other, Name: "desk"})
		h.ask(t, "dora", "alice", 0, on(channel))
		h.clock.Advance(11 * time.Minute)
		for _, who := range []caller.Caller{{Agent: "alice"}, {Agent: caller.Operator, IsOperator: true}} {
			all := h.all(t, asCaller(who), &listed{}, 100)
			for _, form := range []*listed{
				{IntentId: &h.intent}, {IntentId: &other}, {AgentId: pointer("bob")}, {AgentId: pointer("dora")}, {AgentId: pointer("zoe")},
				{IntentId: &other, AgentId: pointer("dora")}, {IntentId: pointer("nowhere")},
			} {
				var wanted []*wire
				for _, one := range all {
					if form.IntentId != nil && one.GetIntentId() != form.GetIntentId() {
						continue
					}
					if name := form.GetAgentId(); name != "" && one.GetAgentId() != name && !slices.Contains(strings.Fields(one.GetSummary()), name) {
						continue
					}
					wanted = append(wanted, one)
				}
				requireSame(t, wanted, h.all(t, asCaller(who), form, 2))
			}
		}
	})
}

// A guest has the questions of its channel, and nothing of the intent. A key of one channel likewise.
func TestGuestsSeeTheirQuestions(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		guest := "guest-gus"
		channel := h.private(t, "alice", guest)
		_, err := h.intents.AssignAgent(as("alice"), &openintentv1.AssignAgentRequest{IntentId: h.intent, AgentId: guest})
		require.NoError(t, err)
		asked := h.ask(t, "alice", guest, 0, on(channel))
		h.ask(t, "alice", "bob", 0)
		h.clock.Advance(11 * time.Minute)
		scoped := asCaller(caller.Caller{Agent: guest, Scope: caller.NewScope(nil, []string{channel})})
		require.Equal(t, []string{asked.GetId()}, messagesOf(h.all(t, scoped, &listed{}, 100)))
	})
}

func TestWhatACallCannotWant(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		for field, form := range map[string]*listed{
			"intent_id": {IntentId: pointer("a\x00b")}, "agent_id": {AgentId: pointer("a\x00b")}, "cursor": {Cursor: pointer("nonsense")},
		} {
			_, err := h.ListConcerns(as("bob"), form)
			faulttest.RequireBadField(t, err, field)
		}
		_, err := h.ListConcerns(t.Context(), &listed{})
		require.Error(t, err)
	})
}
