package siege

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"openintent/e2e/harness"
)

var full = flag.Bool("siege.full", false, "attack at full size")

func TestMain(m *testing.M) {
	if order, flooding := os.LookupEnv(floodVariable); flooding {
		runFlood(order)
		return
	}
	if order, reading := os.LookupEnv(readsVariable); reading {
		runReads(order)
		return
	}
	harness.Main(m)
}

// size returns the size of an attack: small in an ordinary test run, full in `make siege`.
func size[T any](small, atFullSize T) T {
	if *full {
		return atFullSize
	}
	return small
}

// figure prints what an attack measured.
func figure(t *testing.T, format string, arguments ...any) {
	t.Helper()
	t.Log("figure: " + fmt.Sprintf(format, arguments...))
}
