package databasetest_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

func TestEachIsFreshAndMigrated(t *testing.T) {
	for range 2 {
		databasetest.Each(t, func(t *testing.T, db *database.DB) {
			require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
				var rows int
				require.NoError(t, tx.Gorm().Raw("SELECT count(*) FROM messages").Scan(&rows).Error)
				require.Zero(t, rows)
				return tx.Gorm().Exec("CREATE TABLE mine (a bigint)").Error
			}))
		})
	}
}

// Where one engine does, some tests take the one and some the other, always the same, and make engines has them take both.
func TestOneEngineIsTaken(t *testing.T) {
	t.Setenv("OPENINTENT_TEST_EVERY_ENGINE", "1")
	databasetest.OneEngine()
	require.Equal(t, databasetest.Engines(), databasetest.EnginesOf(t))
	t.Setenv("OPENINTENT_TEST_EVERY_ENGINE", "")
	databasetest.OneEngine()
	t.Cleanup(func() { // for the other tests
		t.Setenv("OPENINTENT_TEST_EVERY_ENGINE", "1")
		databasetest.OneEngine()
	})
	taken := make(map[database.Engine]int)
	for name := range 40 {
		t.Run(fmt.Sprint(name), func(t *testing.T) {
			engines := databasetest.EnginesOf(t)
			require.Len(t, engines, 1)
			require.Equal(t, engines, databasetest.EnginesOf(t))
			taken[engines[0]]++
		})
	}
	for _, engine := range databasetest.Engines() {
		require.Greater(t, taken[engine], 5, engine)
	}
}

// A test that needs one engine says nothing about the tests beside it.
func TestOneEngineIsTakenByOneTest(t *testing.T) {
	t.Run("one", func(t *testing.T) {
		databasetest.OneEngineOf(t)
		require.Len(t, databasetest.EnginesOf(t), 1)
		t.Setenv("OPENINTENT_TEST_EVERY_ENGINE", "1")
		t.Run("of every engine", func(t *testing.T) {
			databasetest.OneEngineOf(t)
			require.Equal(t, databasetest.Engines(), databasetest.EnginesOf(t))
		})
	})
	require.Equal(t, databasetest.Engines(), databasetest.EnginesOf(t))
}

func TestReplicasShareAnURL(t *testing.T) {
	address := databasetest.URL(t, database.PostgreSQL)
	one := databasetest.Open(t, database.Config{URL: address})
	two := databasetest.Open(t, database.Config{URL: address})
	var first, second string
	read := func(into *string) func(tx *database.Tx) error {
		return func(tx *database.Tx) error { return tx.Gorm().Raw("SELECT current_database()").Scan(into).Error }
	}
	require.NoError(t, one.ReadStatement(t.Context(), read(&first)))
	require.NoError(t, two.ReadStatement(t.Context(), read(&second)))
	require.Equal(t, first, second)
}

func TestClock(t *testing.T) {
	clock := databasetest.NewClock()
	start := clock.Now()
	require.Equal(t, start.Add(time.Minute), clock.Advance(time.Minute))
	clock.Set(start)
	require.Equal(t, start, clock.Now())
}

// A test's private server keeps its address and everything that was committed, in whatever way it is stopped.
func TestServerThatIsRestarted(t *testing.T) {
	server := databasetest.StartServer(t)
	address := server.Database(t)
	db := databasetest.Open(t, database.Config{URL: address})
	for _, how := range []databasetest.Shutdown{databasetest.Fast, databasetest.Immediate} {
		name := fmt.Sprintf("kept_%d", how)
		create := func(tx *database.Tx) error { return tx.Gorm().Exec("CREATE TABLE " + name + " (a bigint)").Error }
		require.NoError(t, db.Write(t.Context(), create))
		server.Stop(t, how)
		require.Error(t, db.Ping(t.Context()))
		server.Start(t)
		require.NoError(t, db.ReadStatement(t.Context(), func(tx *database.Tx) error {
			var rows int
			return tx.Gorm().Raw("SELECT count(*) FROM " + name).Scan(&rows).Error
		}))
		require.Positive(t, databasetest.KillConnections(t, address))
	}
}

const childVariable = "OPENINTENT_TEST_CHILD"

// The private server ends with the test process and leaves no files, even if the process is killed. The test starts itself again
// as the process that it kills.
func TestPrivateServerEndsWithItsProcess(t *testing.T) {
	databasetest.NeedsPostgreSQL(t)
	if os.Getenv(childVariable) != "" {
		db := databasetest.Open(t, database.Config{URL: databasetest.URL(t, database.PostgreSQL)})
		var folder, port string
		require.NoError(t, db.Read(t.Context(), func(tx *database.Tx) error {
			require.NoError(t, tx.Gorm().Raw("SELECT current_setting('data_directory')").Scan(&folder).Error)
			return tx.Gorm().Raw("SELECT current_setting('port')").Scan(&port).Error
		}))
		fmt.Printf("server %s %s\n", port, url.QueryEscape(folder))
		_, _ = io.Copy(io.Discard, os.Stdin) // until killed
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^TestPrivateServerEndsWithItsProcess$")
	child.Env = append(os.Environ(), childVariable+"=1", "OPENINTENT_TEST_POSTGRES=")
	stdin, err := child.StdinPipe()
	require.NoError(t, err)
	defer stdin.Close()
	stdout, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	var words []string
	for lines := bufio.NewScanner(stdout); len(words) != 3 && lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "server ") {
			words = strings.Fields(lines.Text())
		}
	}
	require.Len(t, words, 3)
	folder, err := url.QueryUnescape(words[2])
	require.NoError(t, err)
	require.DirExists(t, folder)
	require.NoError(t, child.Process.Kill())
	require.Error(t, child.Wait())
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", "127.0.0.1:"+words[1])
		if err == nil {
			_ = conn.Close()
		}
		_, gone := os.Stat(folder)
		return err != nil && os.IsNotExist(gone)
	}, 30*time.Second, 20*time.Millisecond)
}
