package subscriptions

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// The engines' servers, and the connections to them on which the tests' databases are made, are kept until the end.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("database/sql.(*DB).connectionOpener"),
		goleak.IgnoreAnyFunction("openintent/database/databasetest.(*Server).start.func2"))
}
