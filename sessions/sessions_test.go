package sessions

import (
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"openintent/internal/database"
)

func TestASessionIsFoundByBothSecrets(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		made, other := h.begin(t), h.begin(t)
		session := found(t, h.last(), made)
		require.Equal(t, Holder{KeyID: "key", Agent: "alice"}, session.Holder)
		require.Nil(t, session.Token)
		require.True(t, session.BeganWith(keyDigest))
		require.False(t, session.BeganWith(digestOf("another key")))
		require.Nil(t, found(t, h.first(), Secrets{made.Cookie, other.Secret}))
		require.Nil(t, found(t, h.first(), Secrets{other.Cookie, made.Secret}))
		require.Nil(t, found(t, h.first(), Secrets{made.Cookie, ""}))
		require.Nil(t, found(t, h.first(), Secrets{"", made.Secret}))
		among, err := h.last().Find(context.Background(), []string{"x", other.Cookie, made.Cookie}, made.Secret)
		require.NoError(t, err)
		require.Equal(t, session.ID, among.ID, "another port of the host has set cookies of the same name")
	})
}

// The database does not have what counts.
func TestTheDatabaseHasNoSecret(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		made := h.begin(t)
		handed := h.await(t, "refresh-me")
		var all strings.Builder
		require.NoError(t, h.db.Read(context.Background(), func(tx *database.Tx) error {
			return tx.Pipeline(
				database.Statement{
					SQL: "SELECT session_id, secret_digest, key_check FROM console_sessions",
					Scan: func(row database.Row) error {
						var id string
						var secret, check []byte
						err := row.Scan(&id, &secret, &check)
						all.WriteString(id + hex.EncodeToString(secret) + hex.EncodeToString(check) + string(secret) + string(check))
						return err
					},
				},
				database.Statement{SQL: "SELECT refresh_token FROM console_tokens", Scan: func(row database.Row) error {
					var refresh []byte
					err := row.Scan(&refresh)
					all.WriteString(string(refresh))
					return err
				}},
			)
		}))
		for _, secret := range []string{made.Cookie, made.Secret, handed.Cookie, handed.Code, "refresh-me", string(keyDigest[:]), hex.EncodeToString(keyDigest[:])} {
			require.NotContains(t, all.String(), secret)
		}
	})
}

func TestASessionEndsWithTime(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		idle, used := h.begin(t), h.begin(t)
		h.clock.Advance(idleFor - time.Microsecond)
		require.True(t, h.lasts(t, used))
		h.keep(t)
		h.clock.Advance(time.Microsecond)
		require.False(t, h.lasts(t, idle))
		require.NoError(t, h.last().Sweep(context.Background()))
		require.Equal(t, 1, h.count(t, "console_sessions"), "the one that is idle is gone")
		for range 13 {
			require.True(t, h.lasts(t, used))
			h.keep(t)
			h.clock.Advance(idleFor - time.Minute)
		}
		require.True(t, h.lasts(t, used))
		h.keep(t)
		over, err := h.last().Over(context.Background(), []string{idOf(idle.Cookie), idOf(used.Cookie), "nobody's"})
		require.NoError(t, err)
		require.Equal(t, []string{idOf(idle.Cookie), "nobody's"}, over)
		h.clock.Advance(idleFor - 2*time.Minute) // 7 days after the beginning
		require.False(t, h.lasts(t, used))
		over, err = h.last().Over(context.Background(), []string{idOf(used.Cookie)})
		require.NoError(t, err)
		require.Equal(t, []string{idOf(used.Cookie)}, over, "a stream under it ends, too")

		require.NoError(t, h.first().Sweep(context.Background()))
		require.Zero(t, h.count(t, "console_sessions"))
	})
}

// Uses are noted once a minute, and a stream is none: only Find notes.
func TestUsesAreNotedOnceAMinute(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		made := h.begin(t)
		usedAt := func() time.Time { return found(t, h.last(), made).usedAt }
		began := usedAt()
		h.clock.Advance(59 * time.Second)
		require.True(t, h.lasts(t, made))
		h.keep(t)
		require.Equal(t, began, usedAt())
		h.clock.Advance(time.Second)
		require.True(t, h.lasts(t, made))
		h.keep(t)
		require.Equal(t, began.Add(time.Minute), usedAt())
	})
}

func TestAnEndedSessionIsGone(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		made, stays := h.begin(t), h.begin(t)
		require.NoError(t, h.last().End(context.Background(), found(t, h.first(), made)))
		require.False(t, h.lasts(t, made))
		require.True(t, h.lasts(t, stays))
		again := h.begin(t, "x", made.Cookie, stays.Cookie)
		require.False(t, h.lasts(t, stays), "the browser has another one now")
		require.True(t, h.lasts(t, again))
		require.Equal(t, 1, h.count(t, "console_sessions"))

		count, err := Erase(context.Background(), h.db, "bob")
		require.NoError(t, err)
		require.Zero(t, count)
		count, err = Erase(context.Background(), h.db, "alice")
		require.NoError(t, err)
		require.EqualValues(t, 1, count)
		require.False(t, h.lasts(t, again))
	})
}

// Guests of one invite share its key. Whoever signs in again and again ends its own sessions.
func TestWhoSignsInAgainAndAgainEndsItsOwnSessions(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		made := h.begin(t)
		for range 3 * mostOfKey {
			h.clock.Advance(time.Second)
			_, err := h.last().Begin(context.Background(), Holder{KeyID: "key", Agent: "greedy"}, keyDigest, nil)
			require.NoError(t, err)
		}
		require.True(t, h.lasts(t, made))
		require.Equal(t, mostOfKey, h.count(t, "console_sessions"))
	})
}

// The bound holds for sessions that begin at the same moment, on several servers.
func TestSessionsThatBeginTogetherAreBounded(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		var group errgroup.Group
		for n := range 8 * mostOfKey {
			group.Go(func() error {
				_, err := h.services[n%len(h.services)].Begin(context.Background(), Holder{KeyID: "key", Agent: "alice"}, keyDigest, nil)
				return err
			})
		}
		require.NoError(t, group.Wait())
		require.Equal(t, mostOfKey, h.count(t, "console_sessions"))
	})
}

// Servers that begin sessions of one key at the same moment do so one after the other, so that each counts those before. On SQLite there is one
// server, whose transactions wait for each other anyway.
func TestServersBeginSessionsOfAKeyOneAfterTheOther(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		waited := errors.New("it has to try again")
		begun := func(cookie string) *Session {
			return &Session{ID: idOf(cookie), Holder: Holder{KeyID: "key", Agent: "alice"}, check: keyDigest[:]}
		}
		require.NoError(t, h.db.Write(context.Background(), func(tx *database.Tx) error {
			if err := h.first().store(tx, begun("one"), nil); err != nil {
				return err
			}
			for _, other := range h.services[1:] {
				tries := 0
				require.ErrorIs(t, other.db.Write(context.Background(), func(tx *database.Tx) error {
					if tries++; tries > 1 {
						return waited
					}
					return other.store(tx, begun("two"), nil)
				}), waited)
			}
			return nil
		}))
		require.Equal(t, 1, h.count(t, "console_sessions"))
	})
}

func TestSessionsOfAKeyAreBounded(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		other, err := h.first().Begin(context.Background(), Holder{KeyID: "other", Agent: "bob"}, keyDigest, nil)
		require.NoError(t, err)
		var all []Secrets
		for range mostOfKey + 2 {
			h.clock.Advance(time.Second)
			all = append(all, h.begin(t))
		}
		for n, made := range all {
			require.Equal(t, n >= 2, h.lasts(t, made), "the oldest have ended")
		}
		require.True(t, h.lasts(t, other))
	})
}

// A made-up cookie costs no look at the database.
func TestMadeUpCookiesCostNothing(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		made := h.begin(t)
		sealed, err := h.first().seal(context.Background())
		require.NoError(t, err)
		require.True(t, sealed.signed(made.Cookie))
		other := new(seal)
		require.NotEqual(t, sealed, other)
		for _, forged := range []string{
			"", "x", made.Cookie[1:], made.Cookie + "A", "A" + made.Cookie[1:], made.Cookie[:cookieLength-1] + "A", other.newCookie(),
			strings.Repeat("A", cookieLength), strings.Repeat("=", cookieLength), made.Secret, strings.ToLower(made.Cookie),
		} {
			if forged != made.Cookie {
				require.False(t, sealed.signed(forged), forged)
			}
		}
	})
}

// All servers sign with one seal, also when the database has lost it.
func TestTheSealIsShared(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		made := h.begin(t)
		require.True(t, h.lasts(t, made))
		require.Equal(t, h.first().sealed.Load(), h.last().sealed.Load())
		require.NoError(t, h.db.Write(context.Background(), func(tx *database.Tx) error {
			return tx.Pipeline(database.Statement{SQL: "DELETE FROM console_state"})
		}))
		h.clock.Advance(sealEvery)
		h.keep(t)
		require.Equal(t, h.first().sealed.Load(), h.last().sealed.Load())
		require.True(t, h.lasts(t, made))
		require.Equal(t, 1, h.count(t, "console_state"))
	})
}

func TestWhatIsSealedIsOpenedForItsPurpose(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		text, err := h.first().Seal(context.Background(), "purpose", "text")
		require.NoError(t, err)
		opened, ok, err := h.last().Open(context.Background(), "purpose", text)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, "text", opened)
		for _, wrong := range []string{"", "x", text[1:], text[1:] + text[:1], text + "A", text[:8]} {
			_, ok, err := h.first().Open(context.Background(), "purpose", wrong)
			require.NoError(t, err)
			require.False(t, ok, wrong)
		}
		_, ok, err = h.first().Open(context.Background(), "another", text)
		require.NoError(t, err)
		require.False(t, ok)
	})
}
