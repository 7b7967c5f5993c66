package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"

	"openintent/server"
)

// serveCommand runs the server until SIGTERM or SIGINT.
type serveCommand struct {
	server.Config
	UntilInputEnds bool `name:"until-input-ends" help:"Stop when standard input ends, as it does when the program that started the server has died."`
}

// Run serves. On a terminal, with the development key, it prints how to try the server.
func (c *serveCommand) Run(ctx context.Context, parsed *kong.Context, to terminal) error {
	server.ReserveHeap()
	c.Log, c.Version, c.Commit = to.stderr, version, thisBuild().commit
	c.UselessVariables = uselessVariables(os.Environ(), parsed, c.APIKeys != "" || c.APIKeysFile != "")
	// A server that has refused to start, or failed, has nothing to say any more when its context ends.
	defer context.AfterFunc(ctx, func() { tellSystemd("STOPPING=1") })()
	if c.UntilInputEnds {
		var stop context.CancelFunc
		ctx, stop = context.WithCancel(ctx)
		defer stop()
		go func() {
			_, _ = io.Copy(io.Discard, to.stdin)
			stop()
		}()
	}
	err := server.Run(ctx, c.Config, func(addresses server.Addresses) {
		tellSystemd("READY=1")
		if addresses.DevelopmentKey && isTerminal(to.stdout) {
			_, _ = fmt.Fprint(to.stdout, tryIt(c.Config, addresses))
		}
	})
	return refusedSetting(err, parsed)
}

// tryIt returns the commands that a newcomer should type first.
func tryIt(cfg server.Config, addresses server.Addresses) string {
	scheme := "http"
	if cfg.TLSCert != "" {
		scheme = "https"
	}
	return fmt.Sprintf(`
Try it from another terminal (documents: %[1]s://%[2]s/docs):

  curl -H 'X-API-Key: %[3]s' -H 'X-Agent-ID: alice' -d '{"title":"Hello"}' %[1]s://%[2]s/v1/intents
  curl -H 'X-API-Key: %[3]s' -H 'X-Agent-ID: alice' %[1]s://%[2]s/v1/intents

`, scheme, addresses.HTTP, server.DevelopmentKey)
}
