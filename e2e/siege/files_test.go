package siege

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// TestFilesAreTheirOwners checks that only the owner may read a server's files, and that a server that cannot open
// its database leaves no files next to it.
func TestFilesAreTheirOwners(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "openintent.db")
	h := harness.StartProcess(t, harness.Options{URL: "sqlite:" + path})
	_, err := h.As("alice").Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{Title: "Secret"})
	require.NoError(t, err)
	for _, name := range []string{"openintent.db", "openintent.db-wal", "openintent.db-shm", "openintent.db.lock"} {
		info, err := os.Stat(filepath.Join(folder, name))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode(), name)
		figure(t, "%s has mode %04o", name, info.Mode())
	}

	other := filepath.Join(t.TempDir(), "notes.db")
	require.NoError(t, os.WriteFile(other, []byte("These are notes of somebody's, and no database of anybody's at all.\n"), 0o600))
	for refused, means := range map[string]string{
		"sqlite:" + other:               "cannot be read as a SQLite database",
		"sqlite:" + filepath.Dir(other): "is a folder and not a file",
	} {
		command := exec.Command(harness.Executable(t), "serve", "--database-url", refused, "--api-keys", "k",
			"--http-addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0")
		command.Dir = t.TempDir()
		output, err := command.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(output), means)
	}
	left, err := os.ReadDir(filepath.Dir(other))
	require.NoError(t, err)
	require.Len(t, left, 1, "no file is created next to a file that cannot be opened")
}
