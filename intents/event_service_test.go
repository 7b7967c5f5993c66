package intents

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

const trace = "a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d6"

func requireValidChain(t *testing.T, h *house, intentID string) {
	t.Helper()
	outcome := h.verify(t, intentID)
	require.Empty(t, outcome.GetBreaks())
	require.True(t, outcome.GetValid())
	require.True(t, outcome.GetChainValid())
}

func (h *house) verify(t *testing.T, intentID string) *openintentv1.VerifyEventsResponse {
	t.Helper()
	outcome, err := h.VerifyEvents(asOperator(), &openintentv1.VerifyEventsRequest{IntentId: intentID})
	require.NoError(t, err)
	return outcome
}

func (h *house) appendEvent(t *testing.T, req *openintentv1.AppendEventRequest) *openintentv1.Event {
	t.Helper()
	event, err := h.AppendEvent(as("ann"), req)
	require.NoError(t, err)
	return event
}

func TestAnAppendedEventComesBackAsItWas(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		parent := h.log(t, id)[0]
		event := h.appendEvent(t, &openintentv1.AppendEventRequest{
			IntentId: id, EventType: "comment", Payload: object(t, map[string]any{"n": 1e21, "s": "\u2028<&>"}),
			TraceId: pointer(trace), ParentEventId: pointer(parent.GetId()),
			Proof: object(t, map[string]any{"type": "Ed25519Signature2026"}),
		})
		require.EqualValues(t, 2, event.GetSequence())
		require.Equal(t, parent.GetEventHash(), event.GetPreviousEventHash())
		require.Nil(t, parent.PreviousEventHash)
		found, err := h.GetEvent(as("bob"), &openintentv1.GetEventRequest{IntentId: id, EventId: event.GetId()})
		require.NoError(t, err)
		require.Equal(t, event.String(), found.String())
		bare := h.appendEvent(t, &openintentv1.AppendEventRequest{IntentId: id, EventType: "comment"})
		require.NotNil(t, bare.GetPayload())
		require.Nil(t, bare.GetProof())
		require.Nil(t, bare.TraceId)
		require.Nil(t, bare.ParentEventId)
		requireValidChain(t, h, id)
	})
}

func TestTheTraceOfTheCallIsTheEventsUnlessItNamesOne(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		ofCall := strings.Repeat("0", 31) + "1"
		ctx := caller.NewContext(context.Background(), caller.Caller{Agent: "ann", TraceID: ofCall})
		event, err := h.AppendEvent(ctx, &openintentv1.AppendEventRequest{IntentId: id, EventType: "comment"})
		require.NoError(t, err)
		require.Equal(t, ofCall, event.GetTraceId())
		event, err = h.AppendEvent(ctx, &openintentv1.AppendEventRequest{IntentId: id, EventType: "comment", TraceId: pointer(trace)})
		require.NoError(t, err)
		require.Equal(t, trace, event.GetTraceId())
		_, err = h.AssignAgent(ctx, &openintentv1.AssignAgentRequest{IntentId: id, AgentId: "bob"})
		require.NoError(t, err)
		require.Equal(t, ofCall, h.log(t, id)[3].GetTraceId())
	})
}

func TestAppendEventRefuses(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		secret := h.newIntent(t)
		h.closeList(t, secret.GetId())
		secretEvent := h.log(t, secret.GetId())[0].GetId()
		h.closeList(t, id, entryFor("bob", PermissionWrite), entryFor("eve", PermissionRead))
		proof := object(t, map[string]any{"type": "Ed25519Signature2026"})
		for name, c := range map[string]struct {
			agent  string
			req    *openintentv1.AppendEventRequest
			kind   fault.Kind
			reason string
		}{
			"a reader":       {"eve", &openintentv1.AppendEventRequest{}, fault.Denied, "FORBIDDEN"},
			"another actor":  {"bob", &openintentv1.AppendEventRequest{Actor: pointer("ann")}, fault.Denied, "SENDER_MISMATCH"},
			"U+0000 in type": {"bob", &openintentv1.AppendEventRequest{EventType: "a\x00"}, fault.Invalid, "INVALID_FIELD"},
			"too large": {
				"bob", &openintentv1.AppendEventRequest{Payload: object(t, map[string]any{"a": strings.Repeat("x", maxPayloadBytes)})},
				fault.TooLarge, "TOO_LARGE",
			},
			"too large with its proof": {
				"bob", &openintentv1.AppendEventRequest{
					Payload: object(t, map[string]any{"a": strings.Repeat("x", maxPayloadBytes/2)}),
					Proof:   object(t, map[string]any{"a": strings.Repeat("x", maxPayloadBytes/2)}),
				},
				fault.TooLarge, "TOO_LARGE",
			},
			"a signed event of an unknown parent": {
				"bob", &openintentv1.AppendEventRequest{Proof: proof, ParentEventId: pointer("none")}, fault.Invalid, "INVALID_FIELD",
			},
			"a signed event of an unreadable parent": {
				"bob", &openintentv1.AppendEventRequest{Proof: proof, ParentEventId: &secretEvent}, fault.Invalid, "INVALID_FIELD",
			},
		} {
			t.Run(name, func(t *testing.T) {
				c.req.IntentId = id
				if c.req.EventType == "" {
					c.req.EventType = "comment"
				}
				_, err := h.AppendEvent(as(c.agent), c.req)
				faulttest.Require(t, err, c.kind, c.reason)
			})
		}
		_, err := h.AppendEvent(as("bob"), &openintentv1.AppendEventRequest{
			IntentId: id, EventType: "comment", ParentEventId: pointer("none"),
		})
		require.NoError(t, err, "without a signature nobody vouches for the parent")
		_, err = h.AppendEvent(as("ann"), &openintentv1.AppendEventRequest{
			IntentId: id, EventType: "comment", Proof: proof, ParentEventId: &secretEvent,
		})
		require.NoError(t, err, "the parent may be in another intent")
		for agent, want := range map[string]bool{"bob": true, "eve": false} {
			_, err = h.AppendEvent(asOperator(), &openintentv1.AppendEventRequest{
				IntentId: id, EventType: "comment", Actor: pointer(agent),
			})
			require.Equal(t, want, err == nil, "the operator acts with the rights of %s", agent)
		}
	})
}

func TestAPageOfEventsEndsBeforeItGrowsTooLarge(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		large := object(t, map[string]any{"a": strings.Repeat("x", maxPayloadBytes-100)})
		for range 14 {
			h.appendEvent(t, &openintentv1.AppendEventRequest{IntentId: id, EventType: "comment", Payload: large})
		}
		response, err := h.ListEvents(as("ann"), &openintentv1.ListEventsRequest{IntentId: id})
		require.NoError(t, err)
		require.Len(t, response.GetEvents(), 11)
		rest, err := h.ListEvents(as("ann"), &openintentv1.ListEventsRequest{IntentId: id, Cursor: response.NextCursor})
		require.NoError(t, err)
		require.Len(t, rest.GetEvents(), 4)
		require.Equal(t, response.GetEvents()[10].GetSequence()-1, rest.GetEvents()[0].GetSequence())
		require.Nil(t, rest.NextCursor)
		require.Len(t, h.log(t, id), 15, "the remaining events come after the cursor")
		requireValidChain(t, h, id)
	})
}

func TestEventsNeedReadAccess(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		open, closed := h.newIntent(t).GetId(), h.newIntent(t).GetId()
		event := h.log(t, closed)[0]
		h.closeList(t, closed)
		_, err := h.ListEvents(as("bob"), &openintentv1.ListEventsRequest{IntentId: closed})
		faulttest.Require(t, err, fault.Denied, "FORBIDDEN")
		_, err = h.GetEvent(as("bob"), &openintentv1.GetEventRequest{IntentId: closed, EventId: event.GetId()})
		faulttest.Require(t, err, fault.Denied, "FORBIDDEN")
		_, err = h.VerifyEvents(as("bob"), &openintentv1.VerifyEventsRequest{IntentId: closed})
		faulttest.Require(t, err, fault.Denied, "FORBIDDEN")
		_, err = h.GetEvent(as("bob"), &openintentv1.GetEventRequest{IntentId: open, EventId: event.GetId()})
		faulttest.Require(t, err, fault.NotFound, "EVENT_NOT_FOUND")
	})
}

func TestATraceIsReadAcrossReadableIntents(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		ids := []string{h.newIntent(t).GetId(), h.newIntent(t).GetId(), h.newIntent(t).GetId()}
		for _, id := range []string{ids[2], ids[0], ids[1], ids[2]} {
			h.clock.Advance(time.Second)
			h.appendEvent(t, &openintentv1.AppendEventRequest{IntentId: id, EventType: "comment", TraceId: pointer(trace)})
		}
		h.closeList(t, ids[1])
		intentsOf := func(ctx context.Context) (listed []string) {
			response, err := h.ListTraceEvents(ctx, &openintentv1.ListTraceEventsRequest{TraceId: trace})
			require.NoError(t, err)
			for _, event := range response.GetEvents() {
				listed = append(listed, event.GetIntentId())
			}
			return listed
		}
		require.Equal(t, []string{ids[2], ids[0], ids[2]}, intentsOf(as("bob")))
		require.Equal(t, []string{ids[2], ids[0], ids[1], ids[2]}, intentsOf(as("ann")))
		require.Equal(t, []string{ids[2], ids[0], ids[1], ids[2]}, intentsOf(asOperator()))
	})
}

// Events of several intents that were stored in one moment come once each, wherever a page ends.
func TestATraceIsReadInPages(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		var want []string
		for range 3 {
			id := h.newIntent(t).GetId()
			want = append(want, h.appendEvent(t, &openintentv1.AppendEventRequest{IntentId: id, EventType: "comment", TraceId: pointer(trace)}).GetId())
		}
		for limit := range int32(4) {
			req := &openintentv1.ListTraceEventsRequest{TraceId: trace, Limit: pointer(limit + 1)}
			var found []string
			for more := true; more; more = req.Cursor != nil {
				page, err := h.ListTraceEvents(as("bob"), req)
				require.NoError(t, err)
				for _, event := range page.GetEvents() {
					found = append(found, event.GetId())
				}
				require.LessOrEqual(t, len(found), len(want))
				req.Cursor = page.NextCursor
			}
			require.Equal(t, want, found, "pages of %d", limit+1)
		}
	})
}

func TestVerifyFindsTampering(t *testing.T) {
	type broken struct {
		sequence int64
		reason   string
	}
	const (
		badHash = "event_hash is not the hash of the stored event"
		badLink = "previous_event_hash is not the event_hash of the event before"
		badEnd  = "the log does not end with the event that was appended last"
	)
	cases := map[string]struct {
		tamper     string
		want       []broken
		chainValid bool
		count      int64
	}{
		"nothing":     {"SELECT 1 FROM events WHERE intent_no = ?", nil, true, 5},
		"payload":     {"UPDATE events SET payload = X WHERE intent_no = ? AND sequence = 3", []broken{{3, badHash}}, true, 5},
		"actor":       {"UPDATE events SET actor = 'eve' WHERE intent_no = ? AND sequence = 1", []broken{{1, badHash}}, true, 5},
		"time":        {"UPDATE events SET created_at = created_at + 1 WHERE intent_no = ? AND sequence = 2", []broken{{2, badHash}}, true, 5},
		"hash":        {"UPDATE events SET hash = 'x' WHERE intent_no = ? AND sequence = 2", []broken{{2, badHash}, {3, badLink}}, false, 5},
		"link":        {"UPDATE events SET previous_hash = NULL WHERE intent_no = ? AND sequence = 3", []broken{{3, badLink}, {3, badHash}}, false, 5},
		"one missing": {"DELETE FROM events WHERE intent_no = ? AND sequence = 3", []broken{{3, "the event is missing"}}, false, 4},
		"first missing": {
			"DELETE FROM events WHERE intent_no = ? AND sequence < 3",
			[]broken{{1, "the events from here to 2 are missing"}}, false, 3,
		},
		"last missing": {"DELETE FROM events WHERE intent_no = ? AND sequence = 5", []broken{{5, "the event is missing"}}, false, 4},
		"one too many": {
			"UPDATE intent_heads SET last_sequence = 4 WHERE intent_no = ?", []broken{{5, badEnd}}, false, 5,
		},
	}
	eachEngine(t, func(t *testing.T, h *house) {
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				id := h.newIntent(t).GetId()
				for range 4 {
					h.appendEvent(t, &openintentv1.AppendEventRequest{IntentId: id, EventType: "comment"})
				}
				no := h.numberOf(t, id)
				require.NoError(t, h.inWrite(func(tx *database.Tx) error {
					args := []any{no}
					if strings.Contains(c.tamper, "payload = X") {
						args = []any{[]byte(`{"n":1}`), no}
					}
					return tx.Gorm().Exec(strings.Replace(c.tamper, "= X", "= ?", 1), args...).Error
				}))
				outcome := h.verify(t, id)
				var found []broken
				for _, at := range outcome.GetBreaks() {
					found = append(found, broken{at.GetSequence(), at.GetReason()})
				}
				require.Equal(t, c.want, found)
				require.Equal(t, c.want == nil, outcome.GetValid())
				require.Equal(t, c.chainValid, outcome.GetChainValid())
				require.Equal(t, c.count, outcome.GetEventCount())
				require.Len(t, outcome.GetEvents(), int(c.count))
			})
		}
	})
}

func TestVerifyReadsALongLogInPages(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		no := h.numberOf(t, id)
		require.NoError(t, h.inWrite(func(tx *database.Tx) error {
			heads, err := Lock(tx, no)
			for i := 0; err == nil && i < 2*verifyPage; i++ {
				_, err = heads[0].Log(EventDraft{Type: "comment", Actor: "ann"})
			}
			return err
		}))
		outcome := h.verify(t, id)
		require.True(t, outcome.GetValid())
		require.EqualValues(t, 2*verifyPage+1, outcome.GetEventCount())
		require.EqualValues(t, 1, outcome.GetFirstSequence())
		require.EqualValues(t, 2*verifyPage+1, outcome.GetLastSequence())
		require.Equal(t, h.head(t, id).lastHash, outcome.GetLastEventHash())
		require.Len(t, outcome.GetEvents(), 1000)
		rest, err := h.VerifyEvents(as("ann"), &openintentv1.VerifyEventsRequest{IntentId: id, Cursor: outcome.NextCursor})
		require.NoError(t, err)
		require.Len(t, rest.GetEvents(), 1)
		require.EqualValues(t, 2*verifyPage+1, rest.GetEventCount(), "the whole log is verified again")
		require.Nil(t, rest.NextCursor)
	})
}

func TestACallerVerifiesOneLogAtATime(t *testing.T) {
	var running verifications
	ann, bob := caller.Caller{KeyID: "k", Agent: "ann"}, caller.Caller{KeyID: "k", Agent: "bob"}
	end, err := running.begin(ann)
	require.NoError(t, err)
	_, err = running.begin(ann)
	faulttest.Require(t, err, fault.Quota, "VERIFICATION_RUNNING")
	for _, other := range []caller.Caller{bob, {KeyID: "another", Agent: "ann"}} {
		_, err = running.begin(other)
		require.NoError(t, err)
	}
	end()
	_, err = running.begin(ann)
	require.NoError(t, err)
}

func TestBreaksAreNamedAndCounted(t *testing.T) {
	check := newChainCheck()
	for sequence := range int64(maxBreaks + 50) {
		check.next(&Event{Sequence: sequence + 1, Hash: "wrong"})
	}
	require.Len(t, check.breaks, maxBreaks)
	require.EqualValues(t, 2*(maxBreaks+50)-1, check.breakCount)
}

func TestValidTraceID(t *testing.T) {
	require.True(t, ValidTraceID(trace))
	for _, id := range []string{"", trace[1:], trace + "0", strings.ToUpper(trace), "g" + trace[1:], "a b2c3d4e5f6a7b8c9d0e1f2a3b4c5d6"} {
		require.False(t, ValidTraceID(id), id)
	}
}
