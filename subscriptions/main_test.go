package subscriptions

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// The connections to the engines' servers, on which the tests' databases are made, are kept until the end.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("database/sql.(*DB).connectionOpener"))
}
