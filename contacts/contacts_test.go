package contacts

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

const (
	on       = openintentv1.ContactState_CONTACT_STATE_ON
	off      = openintentv1.ContactState_CONTACT_STATE_OFF
	unproved = openintentv1.ContactState_CONTACT_STATE_UNPROVED
	paused   = openintentv1.ContactState_CONTACT_STATE_PAUSED

	toWebhook = openintentv1.ContactKind_CONTACT_KIND_WEBHOOK
	toNtfy    = openintentv1.ContactKind_CONTACT_KIND_NTFY
	toSlack   = openintentv1.ContactKind_CONTACT_KIND_SLACK
	toMail    = openintentv1.ContactKind_CONTACT_KIND_MAIL
	toPush    = openintentv1.ContactKind_CONTACT_KIND_WEB_PUSH
)

func requireReason(t *testing.T, reason string, err error) {
	t.Helper()
	var refusal *fault.Fault
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, reason, refusal.Reason, refusal.Message)
}

// A question that nobody has answered after a minute is told to each contact of its person, with all that a pointer has and none of the
// content.
func TestAQuestionFindsItsPerson(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		listed, err := h.set(h.to(toWebhook, "/hook-secret"), h.to(toNtfy, "/topic-secret"), h.to(toSlack, "/services/secret"))
		require.NoError(t, err)
		codes := make(map[string]string)
		for _, post := range h.standIn.take() {
			codes[post.path] = codeIn(t, post.body)
		}
		for i, path := range []string{"/hook-secret", "/topic-secret", "/services/secret"} {
			require.Equal(t, unproved, listed.GetContacts()[i].GetState())
			require.Equal(t, on, h.prove(listed.GetContacts()[i].GetContactId(), codes[path]).GetState())
		}
		id := h.ask("alice")
		require.Empty(t, h.passes(59*time.Second))
		posts := make(map[string]received)
		for _, post := range h.passes(2 * time.Second) {
			posts[post.path] = post
		}
		require.Len(t, posts, 3)
		fields := decoded(t, posts["/hook-secret"].body)
		require.Equal(t, "question", fields["type"])
		require.Equal(t, "maria", fields["agent_id"])
		require.Equal(t, id, fields["message_id"])
		require.Equal(t, "alice", fields["from"])
		require.Equal(t, "builds", fields["channel"])
		require.Equal(t, "Release 3", fields["intent_title"])
		require.Equal(t, "2026-01-01T00:00:00Z", fields["since"])
		require.Equal(t, "https://openintent.example/console/messages/"+id, fields["link"])
		require.Equal(t, fields["link"], posts["/topic-secret"].header.Get("Click"))
		require.Contains(t, posts["/topic-secret"].body, "alice waits for an answer of maria, in the channel builds of Release 3")
		require.Contains(t, posts["/services/secret"].body, `{"text":"alice waits`)
		require.Equal(t, "A question waits for you", posts["/topic-secret"].header.Get("Title"))
		require.Contains(t, strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(posts["/services/secret"].body), "<"+fields["link"]+">")
		for _, post := range posts {
			require.NotContains(t, post.body, "content")
		}
		require.Empty(t, h.passes(8*time.Minute))
		require.Len(t, h.passes(time.Minute), 3, "ten minutes after it was sent")
		require.Len(t, h.passes(50*time.Minute), 3, "an hour after it was sent")
		require.Empty(t, h.passes(10*time.Hour))
		require.Zero(t, h.rows("contact_posts"))
	})
}

// A stranger's words are not sent: only who asks, and since when.
func TestAStrangersWordsAreNotSent(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.proved()
		intent, err := h.replica().intents.CreateIntent(as("mallory"), &openintentv1.CreateIntentRequest{Title: "call 0900 now"})
		require.NoError(t, err)
		channel, err := h.replica().channels.CreateChannel(as("mallory"), &openintentv1.CreateChannelRequest{
			IntentId: intent.GetId(), Name: "you-won", Members: []string{"mallory", "maria"},
		})
		require.NoError(t, err)
		h.channel = channel.GetId()
		h.ask("mallory")
		posts := h.passes(aMinute)
		require.Len(t, posts, 1)
		require.Contains(t, posts[0].body, "mallory waits for an answer of maria, since")
		require.NotContains(t, posts[0].body, "0900")
		require.NotContains(t, posts[0].body, "won")
	})
}

// What others call themselves stays on one line, and means nothing to Slack.
func TestNamesAreHarmless(t *testing.T) {
	require.Equal(t, "a b", plain("a\nb"))
	require.Equal(t, "a b", plain("\u202ea\u202eb\u200f"), "nothing turns the direction of what follows")
	require.Len(t, []rune(plain(strings.Repeat("ü", 500))), maxWords)
	w := questionWords("maria", pointer{From: "<!channel>", MessageID: "msg_1"}, "")
	require.Contains(t, string(w.forSlack()), `\u0026lt;!channel\u0026gt;`)
	require.Empty(t, w.Link)
}

// Nothing but the code is sent to an address that nobody has proved.
func TestNothingIsSentBeforeTheProof(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		listed, err := h.set(h.to(toWebhook, "/of-somebody-else"))
		require.NoError(t, err)
		code := codeIn(t, h.standIn.take()[0].body)
		h.ask("alice")
		require.Empty(t, h.passes(10*time.Minute))
		h.prove(listed.GetContacts()[0].GetContactId(), code)
		require.Len(t, h.passes(time.Second), 1)
	})
}

// A proof of one contact says nothing of another one of the same name.
func TestAnUnprovedContactGetsNothingBesideAProvedOne(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		kept := h.proved()
		_, err := h.set(keep(kept), h.to(toWebhook, "/of-somebody-else"))
		require.NoError(t, err)
		h.standIn.take()
		h.ask("alice")
		posts := h.passes(aMinute)
		require.Len(t, posts, 1)
		require.Equal(t, "/a-secret-path", posts[0].path)
	})
}

// Nobody sees an address again.
func TestAnAddressIsNotShown(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.proved()
		text := protojson.Format(h.listed()[0])
		require.NotContains(t, text, "a-secret")
		require.Contains(t, text, "…path")
		c := contact{kind: mail, address: "maria@example.com"}
		require.Equal(t, "m…@example.com", c.shown())
		c = contact{kind: ntfy, address: "https://ntfy.example/abc"}
		require.Equal(t, "ntfy.example …", c.shown())
	})
}

// A code counts for its contact, for a quarter of an hour and for five attempts.
func TestACodeIsHardToGuess(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		listed, err := h.set(h.to(toWebhook, "/1"), h.to(toWebhook, "/2"))
		require.NoError(t, err)
		codes := make(map[string]string)
		for _, post := range h.standIn.take() {
			codes[post.path] = codeIn(t, post.body)
		}
		first, second := listed.GetContacts()[0].GetContactId(), listed.GetContacts()[1].GetContactId()
		try := func(id, code string) error {
			_, err := h.ProveContact(as("maria"), &openintentv1.ProveContactRequest{AgentId: "maria", ContactId: id, Code: code})
			return err
		}
		requireReason(t, "CODE_WRONG", try(first, codes["/2"]))
		for range codeAttempts - 1 {
			requireReason(t, "CODE_WRONG", try(first, "x"))
		}
		requireReason(t, "CODE_WRONG", try(first, codes["/1"]))
		h.clock.Advance(codeFor)
		requireReason(t, "CODE_WRONG", try(second, codes["/2"]))
		again, err := h.SendContactCode(as("maria"), &openintentv1.SendContactCodeRequest{AgentId: "maria", ContactId: second})
		require.NoError(t, err)
		require.Nil(t, again.LastProblem)
		code := codeIn(t, h.standIn.take()[0].body)
		requireReason(t, "CODE_WRONG", try(second, codes["/2"]))
		require.NoError(t, try(second, code[:4]+" - "+code[4:]))
		require.NoError(t, try(second, code), "a repeat")
		requireReason(t, "CONTACT_NOT_FOUND", try("cont_none", code))
	})
}

// A contact gets three codes in an hour and a key sends ten, however the contacts change meanwhile.
func TestCodesAreBounded(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		listed, err := h.set(h.to(toWebhook, "/0"))
		require.NoError(t, err)
		again := func() error {
			_, err := h.SendContactCode(as("maria"), &openintentv1.SendContactCodeRequest{
				AgentId: "maria", ContactId: listed.GetContacts()[0].GetContactId(),
			})
			return err
		}
		require.NoError(t, again())
		require.NoError(t, again())
		requireReason(t, "TOO_MANY_CODES", again())
		for i := range 7 {
			_, err := h.set(h.to(toWebhook, fmt.Sprintf("/another%d", i)))
			require.NoError(t, err)
		}
		_, err = h.set(h.to(toWebhook, "/one-too-many"))
		requireReason(t, "TOO_MANY_CODES", err)
		require.Len(t, h.standIn.take(), 10)
		h.clock.Advance(codesPer)
		_, err = h.set(h.to(toWebhook, "/one-too-many"))
		require.NoError(t, err)
		h.works()
		require.Equal(t, int64(1), h.rows("contact_codes"), "old ones are forgotten")
	})
}

// The whole list is replaced; who names a contact keeps it as it is.
func TestTheListIsReplaced(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		kept := h.proved()
		listed, err := h.set(h.to(toNtfy, "/topic"), keep(kept))
		require.NoError(t, err)
		require.Len(t, listed.GetContacts(), 2)
		require.Equal(t, kept.GetContactId(), listed.GetContacts()[1].GetContactId())
		require.Equal(t, on, listed.GetContacts()[1].GetState())
		require.Equal(t, []openintentv1.ContactKind{toNtfy, toWebhook},
			[]openintentv1.ContactKind{listed.GetContacts()[0].GetKind(), listed.GetContacts()[1].GetKind()})
		require.Equal(t, h.clock.Now(), listed.GetContacts()[1].GetProvedAt().AsTime())
		require.Equal(t, h.clock.Now(), listed.GetContacts()[1].GetCreatedAt().AsTime())
		_, err = h.set(keep(kept), h.to(toWebhook, "/a-secret-path"))
		requireReason(t, "INVALID_FIELD", err)
		_, err = h.set(keep(kept), keep(kept))
		requireReason(t, "INVALID_FIELD", err)
		_, err = h.set(&openintentv1.NewContact{ContactId: ptr("cont_none")})
		requireReason(t, "CONTACT_NOT_FOUND", err)
		_, err = h.set(&openintentv1.NewContact{ContactId: ptr(kept.GetContactId()), Kind: toNtfy})
		requireReason(t, "INVALID_FIELD", err)
		require.Len(t, h.listed(), 2, "refused lists change nothing")
		listed, err = h.set()
		require.NoError(t, err)
		require.Empty(t, listed.GetContacts())
	})
}

// What cannot be an address is refused with the field.
func TestAddressesAreChecked(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		for name, wanted := range map[string]*openintentv1.NewContact{
			"no kind":              {Address: ptr("https://example.com")},
			"a private network":    {Kind: toWebhook, Address: ptr("http://10.0.0.1/")},
			"no URL":               {Kind: toNtfy, Address: ptr("topic")},
			"a push for a webhook": {Kind: toWebhook, Address: ptr("https://example.com/"), Push: &openintentv1.PushSubscription{}},
			"a push without any":   {Kind: toPush},
			"a push with a URL":    {Kind: toPush, Address: ptr("https://example.com/")},
			"a push without keys":  {Kind: toPush, Push: &openintentv1.PushSubscription{Endpoint: "https://example.com/"}},
			"a push to loopback":   {Kind: toPush, Push: &openintentv1.PushSubscription{Endpoint: "http://[::1]/"}},
		} {
			_, err := h.set(wanted)
			var refusal *fault.Fault
			require.ErrorAs(t, err, &refusal, name)
			require.Len(t, refusal.Fields, 1, name)
			require.True(t, strings.HasPrefix(refusal.Fields[0].Path, "contacts[0]"), name)
		}
		_, err := h.set(&openintentv1.NewContact{Kind: toMail, Address: ptr("maria@example.com")})
		requireReason(t, "MAIL_IS_OFF", err)
		h.Mail = &Relay{}
		for _, address := range []string{"", "maria", "Maria <maria@example.com>", "a@b\r\nBcc: c@d", "a@b, c@d", "ö@example.com", strings.Repeat("a", 300) + "@b"} {
			_, err := h.set(&openintentv1.NewContact{Kind: toMail, Address: &address})
			requireReason(t, "INVALID_FIELD", err)
		}
	})
}

// Only the agent itself, its key's owner and the operator set, see and prove contacts.
func TestOnlyThePersonHasItsContacts(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		made := h.proved()
		for name, call := range map[string]func() error{
			"set": func() error {
				_, err := h.SetContacts(as("mallory"), &openintentv1.SetContactsRequest{AgentId: "maria"})
				return err
			},
			"list": func() error {
				_, err := h.ListContacts(as("mallory"), &openintentv1.ListContactsRequest{AgentId: "maria"})
				return err
			},
			"prove": func() error {
				_, err := h.ProveContact(as("mallory"), &openintentv1.ProveContactRequest{AgentId: "maria", ContactId: made.GetContactId(), Code: "1"})
				return err
			},
			"send a code": func() error {
				_, err := h.SendContactCode(as("mallory"), &openintentv1.SendContactCodeRequest{AgentId: "maria", ContactId: made.GetContactId()})
				return err
			},
		} {
			err := call()
			require.Error(t, err, name)
			requireReason(t, "NOT_AGENT_OWNER", err)
		}
		require.Len(t, h.listed(), 1)
		_, err := h.SetContacts(as("guest-gus"), &openintentv1.SetContactsRequest{AgentId: "guest-gus"})
		requireReason(t, "INVALID_FIELD", err)
		found, err := h.ListContacts(as("operator"), &openintentv1.ListContactsRequest{AgentId: "maria"})
		require.NoError(t, err)
		require.Len(t, found.GetContacts(), 1)
	})
}

// A key sets so many contacts, whatever names it acts under.
func TestAKeysContactsAreBounded(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		for i := range maxOfKey - 1 {
			h.insertContact(fmt.Sprintf("agent%d", i), "key-maria")
		}
		listed, err := h.set(h.to(toWebhook, "/the-last"))
		require.NoError(t, err)
		_, err = h.set(keep(listed.GetContacts()[0]), h.to(toWebhook, "/one-too-many"))
		requireReason(t, "TOO_MANY_CONTACTS", err)
	})
}

// A contact lasts as long as its key, and another key takes it over by a proof.
func TestAContactLastsAsLongAsItsKey(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		made := h.proved()
		h.paused["key-maria"] = "KEY_REVOKED"
		h.ask("alice")
		require.Empty(t, h.passes(2*time.Minute))
		require.Equal(t, paused, h.listed()[0].GetState())
		_, err := h.SendContactCode(with("key-new", "maria"), &openintentv1.SendContactCodeRequest{AgentId: "maria", ContactId: made.GetContactId()})
		require.NoError(t, err)
		found, err := h.ProveContact(with("key-new", "maria"), &openintentv1.ProveContactRequest{
			AgentId: "maria", ContactId: made.GetContactId(), Code: codeIn(t, h.standIn.take()[0].body),
		})
		require.NoError(t, err)
		require.Equal(t, on, found.GetState())
		require.Len(t, h.passes(time.Second), 1)
	})
}

// A person is told again once the key of a contact counts again, as one does that comes back into the server's configuration.
func TestAContactWhoseKeyComesBackIsToldAgain(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.proved()
		h.paused["key-maria"] = "KEY_REMOVED"
		h.ask("alice")
		require.Empty(t, h.passes(aMinute))
		delete(h.paused, "key-maria")
		require.Len(t, h.passes(time.Hour), 1)
	})
}

// A code that could not be sent says why.
func TestACodeThatDoesNotArriveSaysSo(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.standIn.answer(http.StatusTeapot)
		listed, err := h.set(h.to(toWebhook, "/x"))
		require.NoError(t, err)
		require.Equal(t, "The endpoint answered 418.", listed.GetContacts()[0].GetLastProblem())
	})
}
