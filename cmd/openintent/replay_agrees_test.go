package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

// What a replay says by the rules of today is what the server said when each message had been sent, also of those that the loop brake
// holds back. The third channel has a budget of its own.
func TestAReplayAgreesWithWhatTheServerSaid(t *testing.T) {
	onChannel(t, func(t *testing.T, alice, bob shell) {
		r := record(t, alice, bob)
		r.chatter(t, 24)
		question := r.say(t, alice, "ask", "data", "bob", "--no-wait", "--text", "Ready?")
		answer := r.say(t, bob, "reply", question, "--text", "Ready.")
		r.chatter(t, 22, "--parent", answer)
		alice.does(t, "channels", "create", "brief", "--turn-budget", "3")
		for i := range 6 {
			from := []shell{alice, r.carol}[i%2]
			r.say(t, from, "broadcast", "brief", "--text", "After you.")
		}
		r.say(t, alice, "ask", "brief", "bob", "--no-wait", "--obligation", "halted", "--text", "Do it.")

		count := 0
		for _, one := range r.blocks {
			if one.Reason == "loop_brake" {
				count++
			}
		}
		require.Equal(t, 4+2+3, count, "the server has braked what is beyond the budgets in the channel, the thread and the other channel")
		for _, replay := range []string{
			bob.does(t, "replay", r.intent, "--json"), r.operator.does(t, "replay", r.intent, "--about", "bob", "--json"),
		} {
			require.Equal(t, r.blocks, blocksOf(t, replay))
		}
	})
}

// An operator's replay has what the server says of each message that the agent received: also where the agent came later and sees nothing
// from before, where it never came, and before it took its role.
func TestAReplayHasWhatTheServerSaysAnAgentReceived(t *testing.T) {
	onChannel(t, func(t *testing.T, alice, bob shell) {
		r := newRecording(alice, bob)
		alice.does(t, "channels", "create", "late", "--policy", "explicit", "--member", "alice", "--member", "carol", "--history", "from_join")
		alice.does(t, "channels", "create", "without", "--policy", "explicit", "--member", "alice", "--member", "carol")
		r.operator.does(t, "agents", "register", "carol", "--role", "builder")
		talk := func() {
			for _, channel := range []string{"data", "late", "without"} {
				for _, to := range []string{"*", "carol", "role:builder"} {
					alice.does(t, "notify", channel, to, "--text", "For "+to)
				}
				alice.does(t, "ask", channel, "role:builder", "--no-wait", "--text", "Who?")
			}
		}
		talk()
		r.operator.does(t, "agents", "register", "bob", "--role", "builder")
		talk()
		alice.does(t, "channels", "add", "late", "bob")
		talk()

		var told []string
		for _, channel := range []string{"data", "late", "without"} {
			for line := range strings.Lines(r.operator.does(t, "messages", channel, "--json")) {
				var m struct {
					ID        string `json:"id"`
					ChannelID string `json:"channel_id"`
				}
				require.NoError(t, json.Unmarshal([]byte(line), &m))
				said, err := alice.server.Operator().Attention.GetAttention(t.Context(), &openintentv1.GetAttentionRequest{
					ChannelId: m.ChannelID, MessageId: m.ID, AgentId: new("bob"),
				})
				require.NoError(t, err)
				if said.Policy != nil {
					told = append(told, reference(m.ChannelID, m.ID))
				}
			}
		}
		var replayed []string
		for line := range strings.Lines(r.operator.does(t, "replay", r.intent, "--about", "bob")) {
			if message, _, _ := strings.Cut(line, " "); strings.HasPrefix(message, "chan_") {
				replayed = append(replayed, message)
			}
		}
		require.Len(t, told, 8+3)
		require.ElementsMatch(t, told, replayed)
	})
}

// blocksOf returns what each message of a replay asks.
func blocksOf(t *testing.T, replay string) (blocks []asked) {
	for line := range strings.Lines(replay) {
		var one asked
		require.NoError(t, json.Unmarshal([]byte(line), &one))
		if one.Policy != "" {
			blocks = append(blocks, one)
		}
	}
	return blocks
}

// What a replay counts by the windows and digests of a subscription is what the subscription delivered.
func TestAReplayCountsWhatASubscriptionDelivered(t *testing.T) {
	clearEnvironment(t)
	databasetest.EachURL(t, func(t *testing.T, url string) {
		clock := databasetest.NewClock()
		h := harness.Start(t, harness.Options{URL: url, Configure: func(cfg *server.Config) { cfg.Clock = clock.Now }})
		withData(t, h, func(t *testing.T, alice, bob shell) {
			r := newRecording(alice, bob)
			got := newReceiving(t, h.As("bob"), r.intent)
			pauses := []time.Duration{500 * time.Millisecond, time.Second, 2500 * time.Millisecond, 4 * time.Second}
			r.after = func() {
				got.fetch(t)
				clock.Advance(pauses[got.fetches%len(pauses)])
			}
			r.converse(t)
			r.chatter(t, 24)
			r.converse(t)
			clock.Advance(time.Minute)
			got.fetch(t)

			rules := file(t, "compose_seconds: 3\ndigest_seconds: 20\nmax_chars: 600\n")
			replayed := strings.Split(bob.does(t, "replay", r.intent, "--rules", rules, "--json"), "\n")
			var end struct {
				Totals struct {
					received
					Braked int
				}
			}
			require.NoError(t, json.Unmarshal([]byte(replayed[len(replayed)-1]), &end))
			require.Equal(t, got.received, end.Totals.received)
			require.Greater(t, end.Totals.Digests, 2)
			require.Less(t, end.Totals.FullDeliveries, end.Totals.Full, "several came together")
			require.NotZero(t, end.Totals.Braked)
		})
	})
}

// received is what a subscription delivered, as a replay counts it.
type received struct {
	FullDeliveries int `json:"full_deliveries"`
	Full           int `json:"full"`
	Knocks         int `json:"knocks"`
	Mailbox        int `json:"mailbox"`
	Digested       int `json:"digested"`
	Digests        int `json:"digests"`
	Characters     struct {
		Delivered int `json:"delivered"`
	} `json:"characters"`
}

// receiving fetches what a subscription of an agent delivers.
type receiving struct {
	received
	caller  *harness.Caller
	sub     string
	fetches int
}

func newReceiving(t *testing.T, caller *harness.Caller, intent string) *receiving {
	compose, seconds, chars := true, int32(20), int32(600)
	sub, err := caller.Subscriptions.CreateSubscription(t.Context(), &openintentv1.CreateSubscriptionRequest{
		IntentId: &intent, Compose: &compose, DigestSeconds: &seconds, MaxChars: &chars, Include: []string{"attention"},
	})
	require.NoError(t, err)
	return &receiving{caller: caller, sub: sub.GetId()}
}

// read is a message as it is delivered.
type read struct {
	Message *struct {
		Sender, Subject string
		Payload         json.RawMessage
	}
	Attention *asked
}

// fetch receives what is due, and acknowledges it.
func (r *receiving) fetch(t *testing.T) {
	r.fetches++
	var page []struct {
		Number int64
		read
		Earlier []read
		Digest  json.RawMessage
	}
	path := "/v1/subscriptions/" + r.sub
	r.caller.REST(t, http.MethodGet, path+"/deliveries", "").Decode(t, &page)
	for _, delivery := range page {
		whole := false
		for _, one := range append(delivery.Earlier, delivery.read) {
			if one.Message != nil && one.Message.Sender != r.caller.Agent {
				whole = r.count(one) || whole
			}
		}
		if whole {
			r.FullDeliveries++
		}
		if len(delivery.Digest) > 0 {
			var digest struct {
				MessageCount int `json:"message_count"`
			}
			require.NoError(t, json.Unmarshal(delivery.Digest, &digest))
			r.Digests++
			r.Digested += digest.MessageCount
			r.Characters.Delivered += utf8.RuneCount(delivery.Digest)
		}
	}
	if len(page) > 0 {
		body := fmt.Sprintf(`{"through":%d}`, page[len(page)-1].Number)
		require.Equal(t, http.StatusOK, r.caller.REST(t, http.MethodPost, path+"/acknowledge", body).Status)
	}
}

// count counts a message, and tells whether all of it comes before a model.
func (r *receiving) count(one read) (whole bool) {
	r.Characters.Delivered += utf8.RuneCountInString(one.Message.Subject) + utf8.RuneCount(one.Message.Payload)
	switch one.Attention.Injection {
	case "immediate", "buffered":
		r.Full++
		return true
	case "notify":
		r.Knocks++
	default:
		r.Mailbox++
	}
	return false
}
