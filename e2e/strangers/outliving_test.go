package strangers

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/internal/database/databasetest"
	"openintent/internal/oidc/oidctest"
	"openintent/server"
)

// mailbox is an endpoint that keeps the texts that were posted to it. It takes each delivery once, because a server that stops during a post
// makes the post again when it is back.
type mailbox struct {
	*httptest.Server
	mutex sync.Mutex
	taken map[string]bool
	texts []string
}

func newMailbox(t *testing.T) *mailbox {
	m := &mailbox{taken: make(map[string]bool)}
	m.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, rest, _ := strings.Cut(string(body), `"said":"`)
		text, _, _ := strings.Cut(rest, `"`)
		m.mutex.Lock()
		defer m.mutex.Unlock()
		if id := r.Header.Get("Webhook-Id"); !m.taken[id] {
			m.taken[id] = true
			m.texts = append(m.texts, text)
		}
	}))
	t.Cleanup(m.Close)
	return m
}

func (m *mailbox) got() string {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return strings.Join(m.texts, " ")
}

// gets waits until exactly these texts have arrived, in order.
func (m *mailbox) gets(t *testing.T, texts string) {
	t.Helper()
	require.EventuallyWithT(t, func(t *assert.CollectT) { assert.Equal(t, texts, m.got()) }, harness.Patience, 5*time.Millisecond)
}

// posted is a subscription with a webhook as clients see it.
type posted struct {
	ID           string
	MadeBy       string `json:"made_by"`
	PausedReason string `json:"paused_reason"`
}

// posts makes a subscription with a webhook, with a key.
func (w *world) posts(t *testing.T, secret string, to *mailbox) (made posted) {
	t.Helper()
	answer := w.With(secret, "").REST(t, "POST", "/v1/subscriptions", w.fill(`{"intent_id":"{intent}","webhook_url":"`+to.URL+`"}`))
	require.Equal(t, 201, answer.Status, "%s", answer.Body)
	answer.Decode(t, &made)
	require.Empty(t, made.PausedReason)
	return made
}

func (w *world) says(t *testing.T, text string) {
	t.Helper()
	answer := w.do(t, "bob", "POST", "/v1/channels/{room}/messages", `{"payload":{"said":"`+text+`"}}`)
	require.Equal(t, 201, answer.Status, "%s", answer.Body)
}

func (w *world) shows(t *testing.T, secret string, sub posted) (shown posted) {
	t.Helper()
	answer := w.With(secret, "").REST(t, "GET", "/v1/subscriptions/"+sub.ID, "")
	require.Equal(t, 200, answer.Status, "%s", answer.Body)
	answer.Decode(t, &shown)
	return shown
}

func (w *world) resumes(t *testing.T, secret string, sub posted) (resumed posted) {
	t.Helper()
	answer := w.With(secret, "").REST(t, "PATCH", "/v1/subscriptions/"+sub.ID, `{}`)
	require.Equal(t, 200, answer.Status, "%s", answer.Body)
	answer.Decode(t, &resumed)
	require.Empty(t, resumed.PausedReason)
	return resumed
}

// pausedByKey is what the answers about an ended key list.
type pausedByKey struct {
	SubscriptionIDs   []string `json:"subscription_ids"`
	MoreSubscriptions bool     `json:"more_subscriptions"`
	InviteIDs         []string `json:"invite_ids"`
}

func (w *world) revokeListing(t *testing.T, key issued) pausedByKey {
	t.Helper()
	answer := w.Operator().REST(t, "POST", "/v1/keys/"+key.Key.ID+"/revoke", `{}`)
	require.Equal(t, 200, answer.Status, "%s", answer.Body)
	var revoked struct{ Paused *pausedByKey }
	answer.Decode(t, &revoked)
	require.NotNil(t, revoked.Paused, "%s", answer.Body)
	return *revoked.Paused
}

// posting lets a server post to this machine.
func posting(cfg *server.Config) { cfg.WebhookAllowedNetworks = "127.0.0.0/8" }

// onPostingClock is onClock on a server that posts to this machine.
func onPostingClock(t *testing.T, test func(t *testing.T, w *world, clock *ahead)) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		clock := &ahead{}
		test(t, newWorld(t, harness.Start(t, harness.Options{URL: url, Configure: func(cfg *server.Config) {
			posting(cfg)
			cfg.Clock = clock.now
		}})), clock)
	})
}

// A webhook receives nothing after the answer to the revocation of the key with which it was made, until another key of its agent takes
// it over. Then it gets what waited.
func TestAWebhookEndsWithTheKeyOfItsMaker(t *testing.T) {
	onPostingClock(t, func(t *testing.T, w *world, _ *ahead) {
		thief, other := w.issue(t, `{"label":"alice","agents":["alice"]}`), w.issue(t, `{"label":"alice","agents":["alice"]}`)
		stolen, own := newMailbox(t), newMailbox(t)
		sub, kept := w.posts(t, thief.Secret, stolen), w.posts(t, other.Secret, own)
		require.Equal(t, thief.Key.ID, sub.MadeBy)
		w.says(t, "one")
		stolen.gets(t, "one")
		own.gets(t, "one")

		require.Equal(t, []string{sub.ID}, w.revokeListing(t, thief).SubscriptionIDs)
		require.Equal(t, []string{sub.ID}, w.revokeListing(t, thief).SubscriptionIDs, "who asks again learns it again")
		w.says(t, "two")
		w.says(t, "three")
		own.gets(t, "one two three")
		require.Equal(t, "one", stolen.got())
		require.Equal(t, posted{sub.ID, thief.Key.ID, "KEY_REVOKED"}, w.shows(t, other.Secret, sub))
		require.Empty(t, w.shows(t, other.Secret, kept).PausedReason)
		listed := w.With(other.Secret, "").REST(t, "GET", "/v1/subscriptions", "")
		require.Equal(t, 1, strings.Count(string(listed.Body), "KEY_REVOKED"), "%s", listed.Body)

		require.Equal(t, other.Key.ID, w.resumes(t, other.Secret, sub).MadeBy)
		stolen.gets(t, "one two three")
		w.says(t, "four")
		stolen.gets(t, "one two three four")
		require.Empty(t, w.revokeListing(t, thief).SubscriptionIDs)
	})
}

// What was listed is bounded, and says so.
func TestTheListOfWhatARevocationPausesIsBounded(t *testing.T) {
	onPostingClock(t, func(t *testing.T, w *world, _ *ahead) {
		key := w.issue(t, `{"label":"alice","agents":["alice"]}`)
		box := newMailbox(t)
		for range 101 {
			w.posts(t, key.Secret, box)
		}
		paused := w.revokeListing(t, key)
		require.Len(t, paused.SubscriptionIDs, 100)
		require.True(t, paused.MoreSubscriptions)
	})
}

// The same holds when a key expires. A rotation ends nothing, and an update may say where to post from now on.
func TestAWebhookEndsWhenTheKeyOfItsMakerExpiresAndNotWhenItIsRotated(t *testing.T) {
	onPostingClock(t, func(t *testing.T, w *world, clock *ahead) {
		end := clock.now().Add(5 * time.Minute).Format(time.RFC3339Nano)
		short := w.issue(t, `{"label":"short","agents":["alice"],"expires_at":"`+end+`"}`)
		other := w.issue(t, `{"label":"alice","agents":["alice"]}`)
		ended, lasting, moved := newMailbox(t), newMailbox(t), newMailbox(t)
		sub := w.posts(t, short.Secret, ended)
		w.posts(t, other.Secret, lasting)
		other = w.rotate(t, other, 0)
		w.says(t, "one")
		ended.gets(t, "one")
		lasting.gets(t, "one")
		clock.pass(6 * time.Minute)
		w.says(t, "two")
		lasting.gets(t, "one two")
		require.Equal(t, "one", ended.got())
		require.Equal(t, "KEY_EXPIRED", w.shows(t, other.Secret, sub).PausedReason)
		answer := w.Operator().REST(t, "GET", "/v1/keys/"+short.Key.ID, "")
		require.Contains(t, string(answer.Body), `"subscription_ids":["`+sub.ID+`"]`)
		answer = w.Operator().REST(t, "GET", "/v1/keys/"+other.Key.ID, "")
		require.NotContains(t, string(answer.Body), "subscription_ids")

		answer = w.With(other.Secret, "").REST(t, "PATCH", "/v1/subscriptions/"+sub.ID, `{"webhook_url":"`+moved.URL+`"}`)
		require.Equal(t, 200, answer.Status, "%s", answer.Body)
		moved.gets(t, "two")
		require.Equal(t, "one", ended.got())
		badField("webhook_url").check(t, w.With(other.Secret, "").REST(t, "PATCH", "/v1/subscriptions/"+sub.ID, `{"webhook_url":"ftp://x"}`))
		conflict("SUBSCRIPTION_NOT_POSTED").check(t,
			w.With(other.Secret, "").REST(t, "PATCH", w.fill("/v1/subscriptions/{subscription}"), `{}`))
	})
}

// A token's expiry ends nothing that was made with it, and the subscription says for whom the issuer vouched.
func TestAWebhookOutlivesATokenOfItsMaker(t *testing.T) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		issuer, clock := oidctest.Start(t), &ahead{}
		w := newWorld(t, harness.Start(t, harness.Options{URL: url, Configure: trusting(issuer, clock, posting)}))
		box := newMailbox(t)
		token := issuer.Token(t, nil)
		sub := w.posts(t, token, box)
		require.Regexp(t, "^"+issuer.URL+" .+", sub.MadeBy)
		require.Equal(t, sub.MadeBy, w.resumes(t, token, sub).MadeBy, "whoever takes it over is named as well")
		clock.pass(24 * time.Hour)
		unauthenticated("TOKEN_EXPIRED").check(t, w.With(token, "").REST(t, "GET", "/v1/subscriptions/"+sub.ID, ""))
		w.says(t, "one")
		box.gets(t, "one")
	})
}

// A key that is taken out of the key file pauses what was made with it; once it is there again, it goes on.
func TestAWebhookEndsWhenTheKeyFileLosesTheKeyOfItsMaker(t *testing.T) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		path := filepath.Join(t.TempDir(), "keys.yaml")
		write := func(keys ...string) {
			t.Helper()
			require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, "[%s]", strings.Join(keys, ", ")), 0o600))
		}
		write("first=alice", "second=alice")
		options := harness.Options{URL: url, Configure: func(cfg *server.Config) {
			posting(cfg)
			cfg.APIKeysFile = path
		}}
		w := newWorld(t, harness.Start(t, options))
		restart := func() {
			t.Helper()
			require.NoError(t, w.Stop())
			w = &world{Server: harness.Start(t, options), places: w.places}
		}
		stolen, own := newMailbox(t), newMailbox(t)
		sub := w.posts(t, "first", stolen)
		w.posts(t, "second", own)
		require.Equal(t, "configured", sub.MadeBy)
		made := w.With("first", "").REST(t, "POST", w.fill("/v1/channels/{room}/invites"), `{"agents":["guest-g"]}`)
		require.Equal(t, 201, made.Status, "%s", made.Body)
		var guest invite
		made.Decode(t, &guest)
		w.enter(t, guest, "room", "guest-g")
		w.says(t, "one")
		stolen.gets(t, "one")

		write("second=alice")
		restart()
		w.says(t, "two")
		own.gets(t, "one two")
		require.Equal(t, "one", stolen.got())
		require.Equal(t, "KEY_REMOVED", w.shows(t, "second", sub).PausedReason)
		w.opensNoMore(t, guest.Secret)
		answer := w.With("second", "").REST(t, "GET", w.fill("/v1/channels/{room}/invites"), "")
		require.Contains(t, string(answer.Body), `"paused_reason":"KEY_REMOVED"`)

		write("first=alice", "second=alice")
		restart()
		stolen.gets(t, "one two")
		w.enter(t, guest, "room", "guest-g")
	})
}

// An invite pauses with the key of its maker: nobody comes with it, and those who have come cannot call and are not followed any more.
// Another key of who manages the channel takes it over; then all of them go on.
func TestAnInviteEndsWithTheKeyOfItsMaker(t *testing.T) {
	onPostingClock(t, func(t *testing.T, w *world, clock *ahead) {
		end := clock.now().Add(5 * time.Minute).Format(time.RFC3339Nano)
		thief := w.issue(t, `{"label":"alice","agents":["alice"]}`)
		short := w.issue(t, `{"label":"short","agents":["alice"],"expires_at":"`+end+`"}`)
		other := w.issue(t, `{"label":"alice","agents":["alice"]}`)
		invites := func(secret string) (made invite) {
			answer := w.With(secret, "").REST(t, "POST", w.fill("/v1/channels/{room}/invites"), `{"max_agents":2}`)
			require.Equal(t, 201, answer.Status, "%s", answer.Body)
			answer.Decode(t, &made)
			return made
		}
		came := func(made invite, name string) int {
			return w.With(made.Secret, name).REST(t, "GET", w.fill("/v1/channels/{room}"), "").Status
		}
		first, second := invites(thief.Secret), invites(short.Secret)
		w.enter(t, first, "room", "guest-one")
		w.enter(t, second, "room", "guest-two")
		require.Equal(t, []string{first.Invite.ID}, w.revokeListing(t, thief).InviteIDs)
		require.Equal(t, 401, came(first, "guest-one"))
		require.Equal(t, 401, came(first, "guest-new"))
		require.Equal(t, 200, came(second, "guest-two"))
		clock.pass(6 * time.Minute)
		require.Equal(t, 401, came(second, "guest-two"))
		require.Equal(t, 401, came(second, "guest-new"))
		require.Contains(t, w.members(t, "room"), "guest-one guest-two", "a pause takes nobody off the list")
		listed := string(w.With(other.Secret, "").REST(t, "GET", w.fill("/v1/channels/{room}/invites"), "").Body)
		require.Contains(t, listed, `"paused_reason":"KEY_REVOKED"`)
		require.Contains(t, listed, `"paused_reason":"KEY_EXPIRED"`)
		shown := string(w.Operator().REST(t, "GET", "/v1/keys/"+first.Invite.ID, "").Body)
		require.Contains(t, shown, `"paused_reason":"KEY_REVOKED"`)

		for _, one := range []invite{first, second} {
			path := w.fill("/v1/channels/{room}/invites/" + one.Invite.ID)
			answer := w.With(other.Secret, "").REST(t, "PATCH", path, `{}`)
			require.Equal(t, 200, answer.Status, "%s", answer.Body)
			require.NotContains(t, string(answer.Body), "paused_reason")
		}
		w.enter(t, first, "room", "guest-one")
		w.enter(t, second, "room", "guest-new")
		path := w.fill("/v1/channels/{room}/invites/" + first.Invite.ID)
		require.Equal(t, 200, w.With(other.Secret, "").REST(t, "POST", path+"/revoke", `{}`).Status)
		conflict("INVITE_ENDED").check(t, w.With(other.Secret, "").REST(t, "PATCH", path, `{}`))
	})
}
