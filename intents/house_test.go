package intents

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// house is the room on a fresh database with a clock that the test moves.
type house struct {
	db    *database.DB
	clock *databasetest.Clock
	*Service
}

// eachEngine runs a test on each engine, with a fresh house.
func eachEngine(t *testing.T, run func(t *testing.T, h *house)) {
	t.Helper()
	databasetest.EachURL(t, func(t *testing.T, url string) { run(t, newHouse(t, url)) })
}

func newHouse(t *testing.T, url string) *house {
	t.Helper()
	clock := databasetest.NewClock()
	db := databasetest.Open(t, database.Config{URL: url, Clock: clock.Now})
	return &house{db: db, clock: clock, Service: New(Config{DB: db})}
}

// closed returns the same room with the setting that closes intents without a list.
func (h *house) closed() *house {
	return &house{db: h.db, clock: h.clock, Service: New(Config{DB: h.db, DefaultAccess: PolicyClosed})}
}

// as returns a call's context for an agent.
func as(agent string) context.Context {
	return caller.NewContext(context.Background(), caller.Caller{Agent: agent})
}

// asOperator returns a call's context for the operator.
func asOperator() context.Context {
	return caller.NewContext(context.Background(), caller.Caller{Agent: caller.Operator, IsOperator: true})
}

// newIntent makes an active intent of the agent ann.
func (h *house) newIntent(t *testing.T) *openintentv1.Intent {
	t.Helper()
	active := openintentv1.IntentStatus_INTENT_STATUS_ACTIVE
	return h.createIntent(t, "ann", &openintentv1.CreateIntentRequest{Title: "T", Status: &active})
}

func (h *house) createIntent(
	t *testing.T, agent string, req *openintentv1.CreateIntentRequest,
) *openintentv1.Intent {
	t.Helper()
	intent, err := h.CreateIntent(as(agent), req)
	require.NoError(t, err)
	return intent
}

// setStatus changes an intent's status, based on its current version.
func (h *house) setStatus(agent, intentID string, to Status) (*openintentv1.Intent, error) {
	intent, err := h.GetIntent(asOperator(), &openintentv1.GetIntentRequest{IntentId: intentID})
	if err != nil {
		return nil, err
	}
	return h.SetIntentStatus(as(agent), &openintentv1.SetIntentStatusRequest{
		IntentId: intentID, ExpectedVersion: &intent.Version, Status: statusNumbers[to],
	})
}

// closeList gives an intent a closed list with the given entries.
func (h *house) closeList(t *testing.T, intentID string, entries ...*openintentv1.AccessEntryInput) {
	t.Helper()
	_, err := h.SetAccessControl(asOperator(), &openintentv1.SetAccessControlRequest{
		IntentId: intentID, DefaultPolicy: openintentv1.AccessPolicy_ACCESS_POLICY_CLOSED, Entries: entries,
	})
	require.NoError(t, err)
}

func entryFor(agent string, permission Permission) *openintentv1.AccessEntryInput {
	return &openintentv1.AccessEntryInput{PrincipalId: agent, Permission: openintentv1.Permission(permission)}
}

// log reads an intent's whole log, oldest first.
func (h *house) log(t *testing.T, intentID string) []*openintentv1.Event {
	t.Helper()
	var events []*openintentv1.Event
	for {
		after := int64(len(events))
		page, err := h.ListEvents(asOperator(), &openintentv1.ListEventsRequest{IntentId: intentID, AfterSequence: &after})
		require.NoError(t, err)
		if len(page.GetEvents()) == 0 {
			return events
		}
		events = append(events, page.GetEvents()...)
	}
}

// eventTypes returns the types of the events in an intent's log, oldest first.
func (h *house) eventTypes(t *testing.T, intentID string) []string {
	t.Helper()
	var types []string
	for _, event := range h.log(t, intentID) {
		types = append(types, event.GetEventType())
	}
	return types
}

// numberOf returns the internal number of an intent.
func (h *house) numberOf(t *testing.T, intentID string) int64 {
	t.Helper()
	var no int64
	require.NoError(t, h.db.Read(context.Background(), func(tx *database.Tx) (err error) {
		no, err = h.Resolve(tx, intentID)
		return err
	}))
	return no
}

// head reads an intent's head.
func (h *house) head(t *testing.T, intentID string) Head {
	t.Helper()
	no := h.numberOf(t, intentID)
	var head Head
	require.NoError(t, h.db.Read(context.Background(), func(tx *database.Tx) (err error) {
		head, err = ReadHead(tx, no)
		head.Now()
		return err
	}))
	return head
}

// inWrite runs a transaction of the server itself, without a caller.
func (h *house) inWrite(fn func(tx *database.Tx) error) error {
	return h.db.Write(context.Background(), fn)
}

func object(t *testing.T, members map[string]any) *structpb.Struct {
	t.Helper()
	made, err := structpb.NewStruct(members)
	require.NoError(t, err)
	return made
}

func pointer[T any](value T) *T { return &value }

// soon bounds every wait of a test.
const soon = 20 * time.Second
