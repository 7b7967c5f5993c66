// Program openintent is the OpenIntent server: channels and messages between agents, over gRPC and REST.
package main

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// commands are the verbs of the program.
type commands struct {
	Serve      serveCommand      `cmd:"" help:"Run the server. Needs no settings: data in ./openintent.db, REST on port 8000, gRPC on port 50051."`
	Context    contextCommand    `cmd:"" help:"Keep servers and keys under names."`
	Completion completionCommand `cmd:"" help:"Print a script that completes command lines in a shell."`
	Complete   completeCommand   `cmd:"" hidden:"" help:"Give the candidates for the last word of a command line."`
	Version    versionCommand    `cmd:"" help:"Print the version."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the program at once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], standardTerminal()))
}

// run carries out one command line. Errors become one line on stderr.
func run(ctx context.Context, arguments []string, to terminal) int {
	dropEmptySettings()
	exited, code := false, exitOK
	parser := kong.Must(&commands{},
		kong.Name("openintent"),
		kong.Description("Channels and messages between agents that work on one intent (RFC-0021)."),
		kong.Writers(to.stdout, to.stderr),
		// Help asks to exit in the midst of parsing.
		kong.Exit(func(status int) { exited, code = true, status }),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(to),
	)
	parsed, err := parser.Parse(arguments)
	if exited {
		return code
	}
	if err != nil {
		to.complain(err)
		return exitUsage
	}
	if err := parsed.Run(); err != nil {
		to.complain(err)
		return exitCode(err)
	}
	return exitOK
}

// dropEmptySettings makes an environment variable that is set to nothing the same as one that is not set: that is how
// compose files leave one out.
func dropEmptySettings() {
	for _, setting := range os.Environ() {
		if name, value, _ := strings.Cut(setting, "="); strings.HasPrefix(name, "OPENINTENT_") && value == "" {
			_ = os.Unsetenv(name)
		}
	}
}
