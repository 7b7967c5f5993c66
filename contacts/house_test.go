package contacts

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/agents"
	"openintent/channels"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/webhooks"
	"openintent/messaging"
	"openintent/reach"
	"openintent/tasks"
)

// aMinute is when a name is told of a message that was sent at the beginning of it. The log's times lie microseconds ahead of the clock.
const aMinute = time.Minute + time.Second

// house consists of the rooms up to this one on a fresh database, with a clock that the test moves, and a stand-in for whatever is posted to.
type house struct {
	*Service
	t         *testing.T
	url       string
	clock     *databasetest.Clock
	messaging *messaging.Service
	intent    string
	channel   string
	standIn   *standIn
	paused    map[string]string
}

// standIn takes posts, and answers as the test says.
type standIn struct {
	*httptest.Server
	mutex  sync.Mutex
	posts  []received
	status int
}

type received struct {
	path   string
	header http.Header
	body   string
}

func newStandIn(t *testing.T) *standIn {
	s := &standIn{status: http.StatusOK}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.posts = append(s.posts, received{r.URL.Path, r.Header, string(body)})
		w.WriteHeader(s.status)
	}))
	t.Cleanup(s.Close)
	return s
}

// take returns what was posted since the last time.
func (s *standIn) take() []received {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	taken := s.posts
	s.posts = nil
	return taken
}

func (s *standIn) answer(status int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.status = status
}

func eachHouse(t *testing.T, run func(t *testing.T, h *house)) {
	t.Helper()
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			h := &house{t: t, url: databasetest.URL(t, engine), clock: databasetest.NewClock(), standIn: newStandIn(t), paused: map[string]string{}}
			h.open()
			intent, err := h.replica().intents.CreateIntent(as("lead"), &openintentv1.CreateIntentRequest{Title: "Release 3"})
			require.NoError(t, err)
			channel, err := h.replica().channels.CreateChannel(as("lead"), &openintentv1.CreateChannelRequest{
				IntentId: intent.GetId(), Name: "builds", Members: []string{"lead", "alice", "maria"},
			})
			require.NoError(t, err)
			h.intent, h.channel = intent.GetId(), channel.GetId()
			run(t, h)
		})
	}
}

// rooms are those below.
type rooms struct {
	intents  *intents.Service
	channels *channels.Service
}

var roomsOf sync.Map // by house

func (h *house) replica() rooms {
	found, _ := roomsOf.Load(h)
	return found.(rooms)
}

// open opens the rooms on the house's database, as a start of a server does. On PostgreSQL there may be several.
func (h *house) open() {
	db := databasetest.Open(h.t, database.Config{URL: h.url, Clock: h.clock.Now})
	here := reach.New(reach.Config{DB: db})
	aims := intents.New(intents.Config{DB: db})
	staff := agents.New(agents.Config{DB: db, Reach: here})
	jobs := tasks.New(tasks.Config{DB: db, Intents: aims})
	places := channels.New(channels.Config{DB: db, Intents: aims, Tasks: jobs})
	h.messaging = messaging.New(messaging.Config{
		DB: db, Intents: aims, Agents: staff, Channels: places, LookAgain: time.Hour, Reach: here,
	})
	h.messaging.Start()
	h.t.Cleanup(h.messaging.Stop)
	sender, err := webhooks.New(webhooks.Config{AllowedNetworks: "127.0.0.0/8", Timeout: 20 * time.Second})
	require.NoError(h.t, err)
	h.t.Cleanup(sender.Close)
	roomsOf.Store(h, rooms{aims, places})
	h.Service = New(Config{
		DB: db, Messaging: h.messaging, Here: here, Webhooks: sender, Address: "https://openintent.example",
		Paused: func(*database.Tx, ...string) (map[string]string, error) { return h.paused, nil },
	})
}

func as(agent string) context.Context { return with("key-"+agent, agent) }

func with(key, agent string) context.Context {
	return caller.NewContext(context.Background(), caller.Caller{Agent: agent, KeyID: key, IsOperator: agent == caller.Operator})
}

// ask sends maria a request, and returns the message's id.
func (h *house) ask(from string) string {
	h.t.Helper()
	m, err := h.messaging.SendMessage(as(from), &openintentv1.SendMessageRequest{
		ChannelId: h.channel, To: ptr("maria"), MessageType: openintentv1.MessageType_MESSAGE_TYPE_REQUEST.Enum(),
		Payload: &structpb.Struct{Fields: map[string]*structpb.Value{"question": structpb.NewStringValue("the content")}},
	})
	require.NoError(h.t, err)
	return m.GetId()
}

func ptr[T any](value T) *T { return &value }

// set gives maria contacts.
func (h *house) set(wanted ...*openintentv1.NewContact) (*openintentv1.Contacts, error) {
	return h.SetContacts(as("maria"), &openintentv1.SetContactsRequest{AgentId: "maria", Contacts: wanted})
}

func (h *house) to(kind openintentv1.ContactKind, path string) *openintentv1.NewContact {
	return &openintentv1.NewContact{Kind: kind, Address: ptr(h.standIn.URL + path)}
}

func keep(c *openintentv1.Contact) *openintentv1.NewContact {
	return &openintentv1.NewContact{ContactId: ptr(c.GetContactId())}
}

// proved gives maria one contact of the kind webhook, and proves it.
func (h *house) proved() *openintentv1.Contact {
	h.t.Helper()
	listed, err := h.set(h.to(openintentv1.ContactKind_CONTACT_KIND_WEBHOOK, "/a-secret-path"))
	require.NoError(h.t, err)
	made := listed.GetContacts()[0]
	return h.prove(made.GetContactId(), codeIn(h.t, h.standIn.take()[0].body))
}

func (h *house) prove(id, code string) *openintentv1.Contact {
	h.t.Helper()
	found, err := h.ProveContact(as("maria"), &openintentv1.ProveContactRequest{AgentId: "maria", ContactId: id, Code: code})
	require.NoError(h.t, err)
	return found
}

func (h *house) listed() []*openintentv1.Contact {
	h.t.Helper()
	found, err := h.ListContacts(as("maria"), &openintentv1.ListContactsRequest{AgentId: "maria"})
	require.NoError(h.t, err)
	return found.GetContacts()
}

// codeIn finds the code in what was sent: the only run of 8 digits.
func codeIn(t *testing.T, text string) string {
	t.Helper()
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r < '0' || r > '9' }) {
		if len(word) == codeDigits {
			return word
		}
	}
	require.Fail(t, "there is no code", text)
	return ""
}

// passes lets time pass, and lets the server work.
func (h *house) passes(while time.Duration) []received {
	h.t.Helper()
	h.clock.Advance(while)
	h.works()
	return h.standIn.take()
}

func (h *house) works() {
	h.t.Helper()
	require.NoError(h.t, h.Sweep(h.t.Context()))
	require.NoError(h.t, h.Post(h.t.Context()))
}

// rows counts the rows of a table.
func (h *house) rows(table string) (count int64) {
	h.t.Helper()
	require.NoError(h.t, h.DB.ReadStatement(h.t.Context(), func(tx *database.Tx) error {
		return tx.Pipeline(database.ReadValue(&count, "SELECT count(*) FROM "+table))
	}))
	return count
}

func decoded(t *testing.T, body string) (fields map[string]string) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(body), &fields))
	return fields
}
