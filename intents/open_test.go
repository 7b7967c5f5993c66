package intents

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
)

// open opens an intent and returns its id.
func (h *house) open(t *testing.T, agent, title string) (id string, created bool) {
	t.Helper()
	opened, err := h.OpenIntent(as(agent), &openintentv1.OpenIntentRequest{Title: title})
	require.NoError(t, err)
	require.Equal(t, title, opened.GetIntent().GetTitle())
	return opened.GetIntent().GetId(), opened.GetCreated()
}

func TestAgentsMeetByATitle(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		first, created := h.open(t, "ann", "Release 1.2")
		require.True(t, created)
		again, created := h.open(t, "ann", "Release 1.2")
		require.False(t, created)
		require.Equal(t, first, again)
		others, created := h.open(t, "bob", "Release 1.2")
		require.False(t, created)
		require.Equal(t, first, others)
		for _, other := range []string{"Release 1.3", "release 1.2", "Release 1.2 "} {
			id, created := h.open(t, "bob", other)
			require.True(t, created, other)
			require.NotEqual(t, first, id)
		}

		for _, end := range []Status{StatusCompleted, StatusAbandoned} {
			_, err := h.setStatus("ann", first, end)
			require.NoError(t, err)
			next, created := h.open(t, "ann", "Release 1.2")
			require.True(t, created, "an intent that has ended is left, even by its creator")
			require.NotEqual(t, first, next)
			first = next
		}
	})
}

func TestOneIsRelatedToIntentsBeforeOthers(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		draft := h.createIntent(t, "ann", &openintentv1.CreateIntentRequest{Title: "T"})
		others := h.newIntentOf(t, "bob")
		id, _ := h.open(t, "ann", "T")
		require.Equal(t, draft.GetId(), id, "it is her own, although a draft")
		id, _ = h.open(t, "cid", "T")
		require.Equal(t, others, id, "the only active one")

		drafts := h.createIntent(t, "ann", &openintentv1.CreateIntentRequest{Title: "D"})
		id, _ = h.open(t, "cid", "D")
		require.Equal(t, drafts.GetId(), id, "none is active")

		h.closeList(t, others)
		_, err := h.AssignAgent(asOperator(), &openintentv1.AssignAgentRequest{IntentId: others, AgentId: "dee"})
		require.NoError(t, err)
		h.grant(t, others, "eve", PermissionRead, h.clock.Now().Add(1e12))
		for _, agent := range []string{"dee", "eve", "bob"} {
			id, _ = h.open(t, agent, "T")
			require.Equal(t, others, id, agent)
		}
		h.closeList(t, draft.GetId())
		id, created := h.open(t, "cid", "T")
		require.True(t, created, "a stranger makes one of its own, and does not learn of the closed one")
		require.NotEqual(t, others, id)
	})
}

func (h *house) newIntentOf(t *testing.T, agent string) string {
	t.Helper()
	active := openintentv1.IntentStatus_INTENT_STATUS_ACTIVE
	return h.createIntent(t, agent, &openintentv1.CreateIntentRequest{Title: "T", Status: &active}).GetId()
}

func TestOfSeveralIntentsNoneIsChosen(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		older, newer := h.newIntentOf(t, "ann"), h.newIntentOf(t, "bob")
		h.closeList(t, h.newIntentOf(t, "eve"))
		_, err := h.OpenIntent(as("cid"), &openintentv1.OpenIntentRequest{Title: "T"})
		var refusal *fault.Fault
		require.ErrorAs(t, err, &refusal)
		require.Equal(t, "SEVERAL_INTENTS", refusal.Reason)
		require.Equal(t, newer+" "+older, refusal.Metadata["intent_ids"])
		require.Equal(t, "bob ann", refusal.Metadata["creators"])
		require.Contains(t, refusal.Error(), "There are 2 intents of this title ("+newer+" by bob, "+older+" by ann)")
		for range mostNamed - 1 {
			h.newIntentOf(t, "bob")
		}
		_, err = h.OpenIntent(as("bob"), &openintentv1.OpenIntentRequest{Title: "T"})
		require.ErrorAs(t, err, &refusal)
		require.Contains(t, refusal.Error(), "There are 10 intents")
		h.newIntentOf(t, "bob")
		_, err = h.OpenIntent(as("bob"), &openintentv1.OpenIntentRequest{Title: "T"})
		require.ErrorAs(t, err, &refusal)
		require.Len(t, strings.Fields(refusal.Metadata["intent_ids"]), mostNamed)
		require.Contains(t, refusal.Error(), "more than 10")
		id, _ := h.open(t, "ann", "T")
		require.Equal(t, older, id)
	})
}

// A title looks at a bounded number of its intents, and these are the newest.
func TestOfVeryManyIntentsOfATitleTheNewestCount(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.looking = looking{candidates: 3, atOnce: 3}
		for range 4 {
			_, err := h.setStatus("bob", h.newIntentOf(t, "bob"), StatusCompleted)
			require.NoError(t, err)
		}
		newest := h.newIntentOf(t, "bob")
		for _, agent := range []string{"bob", "cid"} {
			id, created := h.open(t, agent, "T")
			require.False(t, created)
			require.Equal(t, newest, id)
		}
	})
}

func TestLongTitlesThatBeginAlikeAreDifferent(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		for _, letter := range []string{"x", "é", "😀"} {
			one, _ := h.open(t, "ann", strings.Repeat(letter, 1024))
			other, created := h.open(t, "ann", strings.Repeat(letter, 1000))
			require.True(t, created)
			again, created := h.open(t, "ann", strings.Repeat(letter, 1024))
			require.False(t, created)
			require.Equal(t, one, again)
			require.NotEqual(t, one, other)
		}
	})
}

// Calls that come simultaneously get the same intent, on any replica.
func TestAgentsThatOpenSimultaneouslyMeet(t *testing.T) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		h := newHouse(t, url)
		replicas := []*Service{h.Service, h.Service}
		if h.db.Engine() == database.PostgreSQL {
			replicas[1] = newHouse(t, url).Service
		}
		for round := range 5 {
			const callers = 16
			var ids sync.Map
			var made sync.Map
			var running sync.WaitGroup
			errs := make([]error, callers)
			for i := range callers {
				running.Go(func() {
					opened, err := replicas[i%2].OpenIntent(as(fmt.Sprint("agent-", i)), &openintentv1.OpenIntentRequest{Title: fmt.Sprint("T", round)})
					if errs[i] = err; err == nil {
						ids.Store(opened.GetIntent().GetId(), true)
						if opened.GetCreated() {
							made.Store(i, true)
						}
					}
				})
			}
			running.Wait()
			require.NoError(t, errors.Join(errs...))
			require.Equal(t, 1, length(&ids))
			require.Equal(t, 1, length(&made))
		}
	})
}

func length(m *sync.Map) (n int) {
	m.Range(func(any, any) bool {
		n++
		return true
	})
	return n
}
