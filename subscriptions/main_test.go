package subscriptions

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// The engines' servers stay until the end, and so do the connections to them on which the tests' databases are created.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("database/sql.(*DB).connectionOpener"),
		goleak.IgnoreAnyFunction("openintent/internal/database/databasetest.(*Server).start.func2"))
}
