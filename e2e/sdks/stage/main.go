// Program stage runs a command on the stage of package sdks:
//
//	go run ./e2e/sdks/stage -engine sqlite|postgres -- COMMAND [ARGUMENT...]
//
// The command finds the servers and their control endpoint in its environment, as sdk/scenarios/README.md describes.
// Its exit code becomes the program's; when it fails, the servers' logs are printed. The PostgreSQL server is the one
// that OPENINTENT_TEST_POSTGRES names (scripts/with-postgres.sh sets it), or a private one.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"openintent/e2e/harness"
	"openintent/e2e/sdks"
	"openintent/internal/database"
)

func main() {
	engine := flag.String("engine", "sqlite", "sqlite or postgres")
	flag.Parse()
	engines := map[string]database.Engine{"sqlite": database.SQLite, "postgres": database.PostgreSQL}
	chosen, known := engines[*engine]
	if !known || flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: stage -engine sqlite|postgres -- COMMAND [ARGUMENT...]")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code := harness.Alone(func(tb *harness.Program) int {
		stage := sdks.StartStage(tb, chosen)
		code := run(ctx, stage, flag.Args())
		if code != 0 {
			tb.Fail()
		}
		return code
	})
	stop()
	os.Exit(code)
}

// run runs the command on the stage and returns its exit code.
func run(ctx context.Context, stage *sdks.Stage, arguments []string) int {
	command := exec.CommandContext(ctx, arguments[0], arguments[1:]...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	command.Env = append(os.Environ(), stage.Environment()...)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = 10 * time.Second
	err := command.Run()
	var ended *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &ended) && ended.ExitCode() > 0:
		return ended.ExitCode()
	}
	fmt.Fprintln(os.Stderr, "stage:", err)
	return 1
}
