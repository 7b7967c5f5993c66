package sessions

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
)

var errAway = errors.New("away")

// await stores a session of somebody who has come back from a provider, with a browser that had these cookies before.
func (h *house) await(t *testing.T, refresh string, before ...string) Handed {
	t.Helper()
	token := Token{Issuer: "https://id.example", Subject: "p", Agents: []string{"paula"}, Until: h.clock.Now().Add(time.Hour)}
	made, err := h.first().Await(context.Background(), Holder{KeyID: "token", Human: true}, token, refresh, before)
	require.NoError(t, err)
	return made
}

// asPaula chooses paula.
func asPaula(*Session) (string, error) { return "paula", nil }

// takeOver takes a session over; the secret is empty if that was refused.
func (h *house) takeOver(t *testing.T, handed Handed) Secrets {
	t.Helper()
	_, secret, err := h.last().TakeOver(context.Background(), []string{handed.Cookie}, handed.Code, asPaula)
	require.NoError(t, err)
	return Secrets{handed.Cookie, secret}
}

func TestACodeWorksOnce(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		handed, other := h.await(t, ""), h.await(t, "")
		require.False(t, h.lasts(t, Secrets{handed.Cookie, handed.Code}), "a code is no secret")
		require.Empty(t, h.takeOver(t, Handed{other.Cookie, handed.Code}).Secret)
		_, _, err := h.first().TakeOver(context.Background(), []string{handed.Cookie}, handed.Code, func(*Session) (string, error) { return "", errAway })
		require.ErrorIs(t, err, errAway)
		made := h.takeOver(t, handed)
		session := found(t, h.first(), made)
		require.Equal(t, Holder{KeyID: "token", Agent: "paula", Human: true}, session.Holder)
		require.Equal(t, []string{"paula"}, session.Token.Agents)
		require.False(t, session.Token.Renews())
		require.False(t, session.BeganWith(keyDigest))
		require.Empty(t, h.takeOver(t, handed).Secret)
		require.True(t, h.lasts(t, made))

		h.clock.Advance(time.Second) // so that the bound of the key ends an older session
		raced := h.await(t, "")
		var winner Secrets
		_, loser, err := h.first().TakeOver(context.Background(), []string{raced.Cookie}, raced.Code, func(s *Session) (string, error) {
			winner = h.takeOver(t, raced)
			return asPaula(s)
		})
		require.NoError(t, err)
		require.Empty(t, loser, "another page was faster")
		require.True(t, h.lasts(t, winner))
		h.await(t, "", winner.Cookie)
		require.False(t, h.lasts(t, winner), "the browser has a new session")

		h.clock.Advance(codeFor)
		require.Empty(t, h.takeOver(t, other).Secret, "the code is over")
	})
}

func TestOneServerRenewsAtATime(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		made := h.takeOver(t, h.await(t, "first"))
		session := found(t, h.first(), made)
		require.True(t, session.Token.Renews())
		renewed, err := h.first().Renew(context.Background(), session, func(_ context.Context, refresh string) (Renewed, error) {
			require.Equal(t, "first", refresh)
			meanwhile, err := h.last().Renew(context.Background(), session, nil)
			require.NoError(t, err)
			require.Equal(t, session.Token.Until, meanwhile.Token.Until)
			said := *session.Token
			said.Agents, said.Roles, said.Until = []string{"paula", "other"}, []string{"writer"}, said.Until.Add(time.Hour)
			return Renewed{Token: said, Refresh: "second"}, nil
		})
		require.NoError(t, err)
		require.Equal(t, []string{"writer"}, renewed.Token.Roles)
		stored := found(t, h.last(), made)
		require.Equal(t, renewed.Token.Agents, stored.Token.Agents)
		require.Equal(t, renewed.Token.Until, stored.Token.Until)
		require.Equal(t, renewed.Token.Roles, stored.Token.Roles)
		require.False(t, stored.Human)

		late, err := h.last().Renew(context.Background(), session, nil)
		require.NoError(t, err)
		require.Equal(t, stored.Token, late.Token, "who comes late gets what was said meanwhile")

		_, err = h.first().Renew(context.Background(), late, func(_ context.Context, refresh string) (Renewed, error) {
			require.Equal(t, "second", refresh, "who came late can renew the session, too")
			return Renewed{}, errAway
		})
		require.ErrorIs(t, err, errAway)
		asked := 0
		again := func(context.Context, string) (Renewed, error) { asked++; return Renewed{}, errAway }
		_, err = h.last().Renew(context.Background(), stored, again)
		require.NoError(t, err)
		require.Zero(t, asked, "not so soon after the last try")
		h.clock.Advance(renewalFor)
		_, err = h.last().Renew(context.Background(), stored, again)
		require.ErrorIs(t, err, errAway)
		require.Equal(t, 1, asked)

		require.NoError(t, h.first().End(context.Background(), stored))
		gone, err := h.last().Renew(context.Background(), stored, again)
		require.NoError(t, err)
		require.Nil(t, gone)
		require.Zero(t, h.count(t, "console_tokens"))
	})
}

// What renews a session is readable with its cookie alone.
func TestRefreshTokensAreEncrypted(t *testing.T) {
	hidden := encrypt("cookie", "refresh-me")
	require.NotContains(t, string(hidden), "refresh-me")
	require.NotEqual(t, hidden, encrypt("cookie", "refresh-me"), "each has a nonce of its own")
	text, err := decrypt("cookie", hidden)
	require.NoError(t, err)
	require.Equal(t, "refresh-me", text)
	_, err = decrypt("another", hidden)
	require.ErrorIs(t, err, errForeign)
	hidden[len(hidden)-1]++
	_, err = decrypt("cookie", hidden)
	require.ErrorIs(t, err, errForeign)
	require.Nil(t, encrypt("cookie", ""))
}

// A commit of unknown outcome hands out nothing.
func TestNothingIsHandedOutThatMayNotBeStored(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		ctx, cancel := context.WithCancel(context.Background())
		_, err := h.first().seal(ctx)
		require.NoError(t, err)
		cancel()
		made, err := h.first().Begin(ctx, Holder{KeyID: "key", Agent: "alice"}, keyDigest, nil)
		require.Empty(t, made)
		require.True(t, errors.Is(err, context.Canceled) || database.IsUnavailable(err), "%v", err)
		require.Zero(t, h.count(t, "console_sessions"))
	})
}
