package backups

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

// scene is a database with its servers and with clients that receive in every way. Each client is at one of the servers.
type scene struct {
	*parties
	servers []*harness.Server
	intent  string
	// back brings the database back to the moment of remember, behind the back of servers that run, or while the server is stopped.
	back func()
}

// eachScene runs a test on each engine: two servers on PostgreSQL, whose database goes back while they run, and one on SQLite, whose file is
// put back while it is stopped. lookAgain is how often the servers look for what woke nobody; zero means the default.
func eachScene(t *testing.T, lookAgain time.Duration, test func(t *testing.T, s *scene)) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		options := harness.Options{URL: url, Configure: func(cfg *server.Config) {
			cfg.WebhookAllowedNetworks, cfg.LookAgain = "127.0.0.0/8", lookAgain
		}}
		s := &scene{parties: &parties{t: t}, servers: []*harness.Server{harness.Start(t, options)}}
		if !strings.HasPrefix(url, "sqlite:") {
			s.servers = append(s.servers, harness.Start(t, options))
		}
		var end context.CancelFunc
		s.ctx, end = context.WithCancel(t.Context())
		t.Cleanup(func() { // before the servers stop
			end()
			s.running.Wait()
		})
		test(t, s)
	})
}

// at returns an agent at one of the servers.
func (s *scene) at(number int, agent string) *harness.Caller {
	return s.servers[number%len(s.servers)].As(agent)
}

// remember keeps the database as it is now.
func (s *scene) remember() {
	s.t.Helper()
	path, sqlite := strings.CutPrefix(s.servers[0].DatabaseURL, "sqlite:")
	if !sqlite {
		past := databasetest.Remember(s.t, databasetest.Open(s.t, database.Config{URL: s.servers[0].DatabaseURL}), "before")
		s.back = func() { past.PutBack(s.t) }
		return
	}
	require.NoError(s.t, s.servers[0].Stop())
	content, err := os.ReadFile(path)
	require.NoError(s.t, err)
	s.start()
	s.back = func() {
		require.NoError(s.t, s.servers[0].Stop())
		for _, beside := range []string{path + "-wal", path + "-shm"} {
			require.NoError(s.t, os.RemoveAll(beside))
		}
		require.NoError(s.t, os.WriteFile(path, content, 0o600))
		s.start()
	}
}

// start starts the server again, and waits until it can be called.
func (s *scene) start() {
	s.t.Helper()
	s.servers[0].Start(s.t)
	_, err := s.at(0, "alice").Channels.GetChannel(s.t.Context(), &openintentv1.GetChannelRequest{ChannelId: s.channel}, awaiting)
	require.NoError(s.t, err)
}

// said is a payload with one text.
func said(text string) *structpb.Struct {
	return &structpb.Struct{Fields: map[string]*structpb.Value{"text": structpb.NewStringValue(text)}}
}

// tell sends a message.
func (s *scene) tell(number int, sender, to, text string) error {
	_, err := s.at(number, sender).Messages.SendMessage(s.t.Context(), &openintentv1.SendMessageRequest{
		ChannelId: s.channel, To: &to, MessageType: openintentv1.MessageType_MESSAGE_TYPE_NOTIFY.Enum(), Payload: said(text),
	})
	return err
}

// tellAll sends some messages to everyone, by one of the servers in turn, and returns their texts.
func (s *scene) tellAll(word string, count int) (texts []string) {
	s.t.Helper()
	for n := range count {
		texts = append(texts, fmt.Sprint(word, " ", n))
		require.NoError(s.t, s.tell(n, "alice", "*", texts[n]))
	}
	return texts
}

// open makes a room.
func (s *scene) open() {
	t, alice := s.t, s.at(0, "alice")
	t.Helper()
	active := openintentv1.IntentStatus_INTENT_STATUS_ACTIVE
	intent, err := alice.Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{Title: "Report", Status: &active})
	require.NoError(t, err)
	channel, err := alice.Channels.CreateChannel(t.Context(), &openintentv1.CreateChannelRequest{IntentId: intent.GetId(), Name: "talk"})
	require.NoError(t, err)
	s.intent, s.channel = intent.GetId(), channel.GetId()
}

// receive lets all parties begin.
func (s *scene) receive() {
	t := s.t
	t.Helper()
	for _, agent := range []string{"bob 0", "bob 1", "carol"} { // who has spoken takes part
		require.NoError(t, s.tell(0, agent, "*", "here"))
	}
	subscribe := func(agent string, req *openintentv1.CreateSubscriptionRequest) string {
		req.IntentId = &s.intent
		req.MessageType = openintentv1.MessageType_MESSAGE_TYPE_NOTIFY.Enum()
		made, err := s.at(0, agent).Subscriptions.CreateSubscription(t.Context(), req)
		require.NoError(t, err)
		return made.GetId()
	}
	subscribe("dan", &openintentv1.CreateSubscriptionRequest{Name: proto.String("posted"), WebhookUrl: proto.String(s.endpoint())})
	for number := range s.servers {
		name := proto.String(fmt.Sprint("work ", number))
		s.waits(s.at(number, fmt.Sprint("bob ", number)))
		s.fetches(s.at(number, "dan"), subscribe("dan", &openintentv1.CreateSubscriptionRequest{Name: name}))
		s.streams(s.at(number, "eve"), subscribe("eve", &openintentv1.CreateSubscriptionRequest{Name: name}))
	}
	s.follows("a stream of a channel", s.at(1, "frank"), &openintentv1.SubscribeRequest{
		Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: s.channel},
	})
	own := &openintentv1.SubscribeRequest{Scope: &openintentv1.SubscribeRequest_AgentId{AgentId: "carol"}}
	first, end := context.WithCancel(t.Context())
	defer end()
	stream, err := s.at(1, "carol").Messages.Subscribe(first, own) // makes the agent's log
	require.NoError(t, err)
	_, err = stream.Header()
	require.NoError(t, err)
	s.follows("a stream of an agent", s.at(1, "carol"), own)
}

// Everyone who receives gets what is sent after the database went back, no matter how much they had received before. The server refuses
// those that have come further than the log.
func TestEveryoneReceivesAfterARestore(t *testing.T) {
	eachScene(t, 0, func(t *testing.T, s *scene) {
		s.open()
		s.receive()
		kept := s.tellAll("kept", 2)
		s.await(kept...)
		s.remember()
		s.await(s.tellAll("lost", 3)...)
		s.back()
		if len(s.servers) == 1 { // who comes back late with a position would not be told
			for _, p := range s.all {
				if strings.HasPrefix(p.name, "a stream of a") {
					require.Eventually(t, func() bool { return p.wasTold("CURSOR_BEYOND_LOG") }, harness.Patience, checkEvery, p.name)
				}
			}
		}
		s.await(s.tellAll("first", 1)...) // in the place of one that is lost
		s.await(s.tellAll("after", 5)...)
		harness.RequireWhole(t, s.servers[0].DatabaseURL)
	})
}

// An ask whose request was kept gets its answer, and one whose request is lost is told, or asks anew.
func TestAsksGoOnAfterARestore(t *testing.T) {
	eachScene(t, 100*time.Millisecond, func(t *testing.T, s *scene) {
		s.open()
		asked := func(number int, text string) (id string) { // the request with this text in bob's inbox
			inbox, err := s.at(number, "bob").Messages.GetInbox(t.Context(), &openintentv1.GetInboxRequest{AgentId: "bob"})
			assert.NoError(t, err)
			for _, item := range inbox.GetItems() {
				if item.GetMessage().GetPayload().GetFields()["text"].GetStringValue() == text {
					return item.GetMessage().GetId()
				}
			}
			return ""
		}
		awaitAsked := func(text string) {
			require.Eventually(t, func() bool { return asked(0, text) != "" }, harness.Patience, checkEvery)
		}
		answer := func(number int, text string) {
			_, err := s.at(number, "bob").Messages.ReplyMessage(t.Context(), &openintentv1.ReplyMessageRequest{
				ChannelId: s.channel, MessageId: asked(number, text), Payload: said("to " + text),
			})
			require.NoError(t, err)
		}
		keptAnswer := s.ask(s.at(0, "ivan"), "bob", "a question that is kept")
		awaitAsked("a question that is kept")
		s.remember()
		lostAnswer := s.ask(s.at(1, "judy"), "bob", "a question that is lost")
		awaitAsked("a question that is lost")
		s.back()
		answer(1, "a question that is kept")
		m, err := keptAnswer()
		require.NoError(t, err)
		require.Equal(t, "to a question that is kept", m.GetPayload().GetFields()["text"].GetStringValue())
		if len(s.servers) == 1 {
			awaitAsked("a question that is lost")
			answer(0, "a question that is lost")
			_, err = lostAnswer()
			require.NoError(t, err)
		} else {
			_, err = lostAnswer()
			require.Equal(t, "MESSAGE_NOT_FOUND", harness.Reason(err), "%v", err)
		}
		harness.RequireWhole(t, s.servers[0].DatabaseURL)
	})
}

// A lease that was granted after the backup is lost: its holder is told at the next renewal, and its fence is never given again. One that was
// released since is back, and whoever waits for the scope gets it once that is given up.
func TestLeasesAreThoseOfTheDatabase(t *testing.T) {
	eachScene(t, 0, func(t *testing.T, s *scene) {
		s.open()
		first, err := s.acquire(0, "gus")()
		require.NoError(t, err)
		s.remember()
		require.NoError(t, s.release(0, first))
		second, err := s.acquire(1, "hal")()
		require.NoError(t, err)
		third := s.acquire(0, "ida")
		require.Eventually(t, func() bool {
			var waiters int64
			assert.NoError(t, database.ReadSnapshot(t.Context(), s.servers[0].DatabaseURL, func(tx *database.Tx) error {
				return tx.Pipeline(database.ReadValue(&waiters, "SELECT COUNT(*) FROM lease_waiters"))
			}))
			return waiters == 1
		}, harness.Patience, checkEvery)
		s.back()

		_, err = s.at(1, "hal").Leases.RenewLease(t.Context(), &openintentv1.RenewLeaseRequest{IntentId: s.intent, LeaseId: second.GetId()})
		require.Equal(t, "LEASE_NOT_FOUND", harness.Reason(err), "%v", err)
		listed, err := s.at(1, "hal").Leases.ListLeases(t.Context(), &openintentv1.ListLeasesRequest{IntentId: s.intent})
		require.NoError(t, err)
		require.Len(t, listed.GetLeases(), 1)
		require.Equal(t, first.GetId(), listed.GetLeases()[0].GetId())
		require.NoError(t, s.release(1, first))
		lease, err := third()
		require.NoError(t, err)
		require.Greater(t, lease.GetFence(), second.GetFence())
		harness.RequireWhole(t, s.servers[0].DatabaseURL)
	})
}

// acquire waits for a lease in the background. It asks again when the server is away.
func (s *scene) acquire(number int, agent string) (lease func() (*openintentv1.Lease, error)) {
	var got *openintentv1.Lease
	var err error
	ended := make(chan struct{})
	s.running.Go(func() {
		defer close(ended)
		for again := true; again && s.ctx.Err() == nil; again = harness.Code(err) == codes.Unavailable {
			got, err = s.at(number, agent).Leases.AcquireLease(s.ctx, &openintentv1.AcquireLeaseRequest{
				IntentId: s.intent, Scope: "press", DurationSeconds: proto.Int32(3600), WaitSeconds: 600,
			}, awaiting)
		}
	})
	return func() (*openintentv1.Lease, error) {
		<-ended
		return got, err
	}
}

func (s *scene) release(number int, lease *openintentv1.Lease) error {
	_, err := s.at(number, lease.GetAgentId()).Leases.ReleaseLease(s.t.Context(), &openintentv1.ReleaseLeaseRequest{
		IntentId: s.intent, LeaseId: lease.GetId(),
	})
	return err
}

// An agent refuses those senders that the database says, whatever the servers have decided by what is lost.
func TestRefusalsAreThoseOfTheDatabase(t *testing.T) {
	eachScene(t, 0, func(t *testing.T, s *scene) {
		s.open()
		refuse := func(number int, sender string) {
			_, err := s.at(number, "zoe").Agents.RefuseSender(t.Context(), &openintentv1.RefuseSenderRequest{AgentId: "zoe", Sender: sender})
			require.NoError(t, err)
		}
		_, err := s.at(0, "zoe").Agents.RegisterAgent(t.Context(), &openintentv1.RegisterAgentRequest{AgentId: proto.String("zoe")})
		require.NoError(t, err)
		refuse(0, "spammer")
		s.remember()
		_, err = s.at(0, "zoe").Agents.AllowSender(t.Context(), &openintentv1.AllowSenderRequest{AgentId: "zoe", Sender: "spammer"})
		require.NoError(t, err)
		refuse(1, "mallory")
		for number := range 2 * len(s.servers) {
			require.NoError(t, s.tell(number, "spammer", "zoe", "allowed"))
			require.Equal(t, "REFUSED", harness.Reason(s.tell(number, "mallory", "zoe", "refused")))
		}
		s.back()
		for number := range 2 * len(s.servers) {
			assert.Equal(t, "REFUSED", harness.Reason(s.tell(number, "spammer", "zoe", "refused")), "it is refused again")
			assert.NoError(t, s.tell(number, "mallory", "zoe", "allowed"))
		}
		harness.RequireWhole(t, s.servers[0].DatabaseURL)
	})
}
