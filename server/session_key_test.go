package server

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/sessions"
)

// A session ends with its configured key: when the file does not have the key any more, or binds it to others.
func TestASessionEndsWithItsConfiguredKey(t *testing.T) {
	db := databasetest.Open(t, database.Config{URL: "sqlite::memory:"})
	file := filepath.Join(t.TempDir(), "keys.yaml")
	has := func(keys *Keys, text string) {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		if keys != nil {
			require.NoError(t, keys.Reload())
		}
	}
	has(nil, "- first=alice|bob\n- other\n")
	known, err := LoadKeys("", file)
	require.NoError(t, err)
	known.sessions = sessions.New(sessions.Config{DB: db, MostOfKey: 10})
	key := known.find("first")
	holder := sessions.Holder{KeyID: key.id, Agent: "alice"}
	made, err := known.sessions.Begin(context.Background(), holder, key.digest, nil)
	require.NoError(t, err)
	session, err := known.sessions.Find(context.Background(), []string{made.Cookie}, made.Secret)
	require.NoError(t, err)
	held := func() *apiKey {
		key, err := known.ofSession(context.Background(), session)
		require.NoError(t, err)
		return key
	}
	before := held()
	require.Equal(t, []string{"alice", "bob"}, before.agents)
	require.Equal(t, session.ID, before.session)
	require.Empty(t, key.session, "the key itself has no session")

	has(known, "- first=alice\n- other\n")
	require.ErrorIs(t, context.Cause(before.valid), errKeyRemoved)
	require.Equal(t, []string{"alice"}, held().agents)
	has(known, "- first=bob\n- other\n")
	require.Nil(t, held())
	has(known, "- first\n- other\n")
	require.False(t, held().bound)
	has(known, "- other\n")
	require.Nil(t, held())
	has(known, "- first=alice\n- other\n")
	require.NotNil(t, held(), "the same key is there again")
}
