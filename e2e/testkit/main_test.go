package testkit

import (
	"testing"

	"openintent/e2e/harness"
	"openintent/sdk/go/openintenttest"
)

// root is the path of the repository from this package.
const root = "../.."

func TestMain(m *testing.M) { harness.Main(m) }

// start starts a server of the program that is tested.
func start(t *testing.T, options ...openintenttest.Option) *openintenttest.Server {
	t.Helper()
	t.Setenv("OPENINTENT_PROGRAM", harness.Executable(t))
	return openintenttest.Start(t, options...)
}
