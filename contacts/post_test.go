package contacts

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/webhooks"
)

// insertContact stores a contact that no call has made.
func (h *house) insertContact(agent, key string) {
	h.t.Helper()
	require.NoError(h.t, h.DB.Write(h.t.Context(), func(tx *database.Tx) error {
		c := contact{agent: agent, id: "cont_" + agent, kind: webhook, address: h.standIn.URL + "/" + agent, madeBy: key, createdAt: tx.Now()}
		return c.insert(tx, 0)
	}))
}

// Of two servers that look and post at the same time, one sends.
func TestTwoReplicasSendOnce(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.proved()
		replicas := []*Service{h.Service, h.Service}
		if h.DB.Engine() == database.PostgreSQL {
			h.open()
			replicas[1] = h.Service
		}
		for range 5 {
			h.ask("alice")
		}
		for _, pause := range []time.Duration{61 * time.Second, 9 * time.Minute, 50 * time.Minute} {
			h.clock.Advance(pause)
			var group sync.WaitGroup
			for range 4 {
				for _, replica := range replicas {
					group.Go(func() {
						assertNoError(t, replica.Sweep(t.Context()))
						assertNoError(t, replica.Post(t.Context()))
					})
				}
			}
			group.Wait()
			h.works()
			require.Len(t, h.standIn.take(), 1)
		}
	})
}

// A look stores nothing if somebody has looked since it began.
func TestALookByAnotherStoresNothing(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.proved()
		h.ask("alice")
		h.clock.Advance(aMinute)
		before := name{agent: "maria", version: 1}
		require.NoError(t, h.lookAt(t.Context(), before))
		require.Equal(t, int64(1), h.rows("contact_posts"))
		h.clock.Advance(9 * time.Minute)
		require.NoError(t, h.lookAt(t.Context(), before))
		require.Equal(t, int64(1), h.rows("contact_posts"))
	})
}

func assertNoError(t *testing.T, err error) {
	if err != nil {
		t.Error(err)
	}
}

// What was recorded is posted after a restart, and what was taken up and not sent, too, when its time is over.
func TestAKillLosesNothing(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.proved()
		h.ask("alice")
		h.clock.Advance(aMinute)
		require.NoError(t, h.Sweep(t.Context())) // and killed before anything is posted
		due, err := h.due(t.Context())
		require.NoError(t, err)
		require.Len(t, due, 1)
		taken, err := h.takeUp(t.Context(), due) // and killed again
		require.NoError(t, err)
		require.Len(t, taken, 1)
		none, err := h.takeUp(t.Context(), due)
		require.NoError(t, err)
		require.Empty(t, none, "somebody has it")
		require.Empty(t, h.passes(heldFor-time.Second))
		require.Len(t, h.passes(time.Second), 1)
		require.Empty(t, h.passes(heldFor))
	})
}

// A post that has waited is not sent if its question was answered meanwhile.
func TestWhatHasWaitedIsLookedAtAgain(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.proved()
		id := h.ask("alice")
		h.clock.Advance(aMinute)
		require.NoError(t, h.Sweep(t.Context()))
		_, err := h.messaging.ReplyMessage(as("maria"), &openintentv1.ReplyMessageRequest{ChannelId: h.channel, MessageId: id})
		require.NoError(t, err)
		h.clock.Advance(freshFor + time.Second)
		require.NoError(t, h.Post(t.Context()))
		require.Empty(t, h.standIn.take())
		require.Zero(t, h.rows("contact_posts"))
	})
}

// What fails is tried again after pauses, for ten minutes. After a day of failures the contact is switched off and says so, and a new proof
// lets it work again.
func TestAContactThatFailsForADayIsSwitchedOff(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		made := h.proved()
		h.ask("alice")
		h.standIn.answer(http.StatusBadRequest)
		require.Len(t, h.passes(aMinute), 1)
		require.Empty(t, h.passes(0))
		tries, ids := 0, make(map[string]bool)
		for range 25 {
			for _, post := range h.passes(20 * time.Second) {
				tries++
				ids[post.header.Get("Webhook-Id")] = true
			}
		}
		require.Len(t, ids, 1, "a repeat is known by its id")
		require.GreaterOrEqual(t, tries, 4)
		require.LessOrEqual(t, tries, 10)
		shown := h.listed()[0]
		require.Equal(t, on, shown.GetState())
		require.NotNil(t, shown.GetFailingSince())
		require.Equal(t, "The endpoint answered 400.", shown.GetLastProblem())

		h.clock.Advance(24 * time.Hour)
		h.ask("bob")
		require.NotEmpty(t, h.passes(aMinute))
		require.Equal(t, off, h.listed()[0].GetState())
		h.ask("carol")
		require.Empty(t, h.passes(2*time.Hour))

		h.standIn.answer(http.StatusOK)
		_, err := h.SendContactCode(as("maria"), &openintentv1.SendContactCodeRequest{AgentId: "maria", ContactId: made.GetContactId()})
		require.NoError(t, err)
		shown = h.prove(made.GetContactId(), codeIn(t, h.standIn.take()[0].body))
		require.Equal(t, on, shown.GetState())
		require.Nil(t, shown.GetFailingSince())
		require.Nil(t, shown.LastProblem)
		h.works()
		require.NotEmpty(t, h.standIn.take())
	})
}

// A post that nobody has tried says nothing of its contact, and comes later. One that nobody could send for ten minutes is not sent.
func TestAPostThatWasPutOffComesLater(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.proved()
		h.ask("alice")
		h.clock.Advance(aMinute)
		require.NoError(t, h.Sweep(t.Context()))
		due, err := h.due(t.Context())
		require.NoError(t, err)
		require.Len(t, due, 1)
		require.NoError(t, h.conclude(t.Context(), due[0], webhooks.Result{PutOff: true, RetryAfter: time.Minute, Problem: "It is left alone."}))
		require.Nil(t, h.listed()[0].GetFailingSince())
		require.Nil(t, h.listed()[0].LastProblem)
		require.Empty(t, h.passes(59*time.Second))
		due[0].madeAt = h.clock.Now().Add(-keptFor)
		to, err := h.receiver(t.Context(), due[0])
		require.NoError(t, err)
		require.NotNil(t, to)
		due[0].madeAt = due[0].madeAt.Add(-time.Microsecond)
		to, err = h.receiver(t.Context(), due[0])
		require.NoError(t, err)
		require.Nil(t, to)
		require.Len(t, h.passes(time.Second), 1)
	})
}

// A call is stored in the place of its sender's former one, with all that it has.
func TestACallTakesThePlaceOfTheFormerOne(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		at := h.clock.Now().Truncate(time.Microsecond).UTC()
		for _, c := range []*call{
			{sender: "alice", intentNo: 1, position: 2, sentAt: at, beganAt: at, step: 1},
			{sender: "alice", intentNo: 3, position: 4, sentAt: at.Add(time.Hour), stranger: true, beganAt: at.Add(2 * time.Hour), step: 2},
		} {
			known := make(map[string]*call)
			require.NoError(t, h.DB.Write(t.Context(), func(tx *database.Tx) error {
				return tx.Pipeline(c.storing("maria"), readCalls("maria", known))
			}))
			require.Equal(t, map[string]*call{"alice": c}, known)
		}
	})
}

// One success ends a row of failures.
func TestASuccessEndsARowOfFailures(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.proved()
		h.ask("alice")
		h.standIn.answer(http.StatusBadRequest)
		h.passes(aMinute)
		h.standIn.answer(http.StatusOK)
		require.Len(t, h.passes(aMinute), 1)
		require.Nil(t, h.listed()[0].GetFailingSince())
		require.Nil(t, h.listed()[0].LastProblem)
	})
}

// An end that says that it is gone is switched off at once.
func TestWhatIsGoneIsSwitchedOff(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.proved()
		h.ask("alice")
		h.standIn.answer(http.StatusGone)
		require.Len(t, h.passes(aMinute), 1)
		require.Equal(t, off, h.listed()[0].GetState())
		require.Empty(t, h.passes(time.Hour))
		require.Zero(t, h.rows("contact_looks"), "nobody looks any more")
		require.Zero(t, h.rows("contact_calls"), "a contact that is proved later is told of what presses then")
	})
}

// One key's contacts take a part of the posts that are under way, however many are due.
func TestOneKeyTakesAPartOfThePosts(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		add := func(key string, count int) {
			for range count {
				require.NoError(t, h.DB.Write(t.Context(), func(tx *database.Tx) error {
					return tx.Pipeline(database.Statement{
						SQL: "INSERT INTO contact_posts (agent_id, contact_id, key_id, intent_no, position, pointer, attempts, due_at, made_at)" +
							" VALUES ('x', 'y', ?, 1, 1, '{}', 0, 1, 1)",
						Args: []any{key},
					})
				}))
			}
		}
		add("greedy", 100)
		add("modest", 1)
		due, err := h.due(t.Context())
		require.NoError(t, err)
		require.Len(t, due, ofAKey+1)

		require.NoError(t, h.DB.Write(t.Context(), func(tx *database.Tx) error {
			var posts []database.Statement
			for n := range 2 * together { // the latest first
				posts = append(posts, database.Statement{
					SQL: "INSERT INTO contact_posts (agent_id, contact_id, key_id, intent_no, position, pointer, attempts, due_at, made_at)" +
						" VALUES ('x', 'y', ?, 1, ?, '{}', 0, ?, 1)",
					Args: []any{fmt.Sprint("key ", n), n, 1000 - n},
				})
			}
			return tx.Pipeline(posts...)
		}))
		due, err = h.due(t.Context())
		require.NoError(t, err)
		require.Len(t, due, together)
		for n, p := range due[ofAKey+1:] {
			require.EqualValues(t, 2*together-1-n, p.place.position, "what has been due the longest comes first")
		}
	})
}

// However many names are due, the one that has been so the longest is looked at first.
func TestNobodyIsLookedAtBeforeThoseWhoHaveWaitedLonger(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.proved()
		h.ask("alice")
		h.clock.Advance(aMinute)
		require.NoError(t, h.DB.Write(t.Context(), func(tx *database.Tx) error {
			for n := range looksOfARun {
				if err := scheduleLook(tx, fmt.Sprint("a ", n), h.clock.Now()); err != nil { // before maria in the order of names
					return err
				}
			}
			return nil
		}))
		require.NoError(t, h.look(t.Context()))
		require.Equal(t, int64(1), h.rows("contact_posts"))
		require.Equal(t, int64(2), h.rows("contact_looks"), "the last of the others, and maria, who has a contact")
	})
}

// An erasure takes everything of a name.
func TestAnErasureTakesContactsAlong(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.proved()
		h.ask("alice")
		h.clock.Advance(aMinute)
		require.NoError(t, h.Sweep(t.Context()))
		tables := []string{"contacts", "contact_codes", "contact_looks", "contact_calls", "contact_posts"}
		for _, table := range tables {
			require.Equal(t, int64(1), h.rows(table), table)
		}
		require.NoError(t, h.DB.Write(t.Context(), func(tx *database.Tx) error {
			return tx.Pipeline((&call{sender: "maria"}).storing("bob"), (&call{sender: "bob"}).storing("carol"))
		}))
		rows, err := Erase(t.Context(), h.DB, "maria")
		require.NoError(t, err)
		for table, erased := range map[string]int64{
			"contacts": 1, "contact_codes": 1, "contact_looks": 1, "contact_calls": 2, "contact_posts": 1,
		} {
			require.Equal(t, erased, rows[table], "%s: also of her own questions to others", table)
		}
		for _, table := range tables {
			left := int64(0)
			if table == "contact_calls" {
				left = 1
			}
			require.Equal(t, left, h.rows(table), "%s: those of others stay", table)
		}
	})
}
