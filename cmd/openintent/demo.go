package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"golang.org/x/sync/errgroup"

	"openintent/clients/demo"
	"openintent/server"
)

// demoCommand starts a server on a database in memory and lets a team of scripted agents play on it.
type demoCommand struct {
	HTTPAddr string        `name:"http-addr" default:"127.0.0.1:8000" help:"Address for REST and the console, as host:port on this machine; if the port is taken, another one."`
	GRPCAddr string        `name:"grpc-addr" default:"127.0.0.1:50051" help:"Address for gRPC, as host:port on this machine; if the port is taken, another one."`
	Pace     time.Duration `default:"2s" placeholder:"DURATION" help:"The time between two acts of the agents (2s)."`
}

// Help says what there is to see.
func (demoCommand) Help() string {
	return `Starts a server on a database in memory, and lets a small team of scripted agents work on it until Ctrl-C: they ask, claim, hand work
over, and ask a person, who is you. One of them is dead, and work waits for it. No model is called, nothing leaves this machine, and
nothing stays. The settings of a server in the environment do not count.`
}

// Run plays until the context ends.
func (c *demoCommand) Run(ctx context.Context, to terminal) error {
	config, err := c.config(to)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	serving, ctx := errgroup.WithContext(ctx)
	serving.Go(func() error {
		defer stop()
		return server.Run(ctx, config, func(addresses server.Addresses) {
			_, _ = fmt.Fprint(to.stdout, whatToSee(addresses))
			serving.Go(func() error { return c.play(ctx, addresses, to) })
		})
	})
	return serving.Wait()
}

// play lets the team play, and prints what it does.
func (c *demoCommand) play(ctx context.Context, addresses server.Addresses, to terminal) error {
	return demo.Play(ctx, demo.Options{
		Server: addresses.GRPC, Key: server.DevelopmentKey, Pace: c.Pace,
		Say: func(sentence string) {
			if !to.quiet {
				_, _ = fmt.Fprintf(to.stdout, "%s  %s\n", time.Now().Format(time.TimeOnly), sentence)
			}
		},
	})
}

// config returns the settings of a server as openintent serve has them without any, but for the database, the addresses and the log.
func (c *demoCommand) config(to terminal) (server.Config, error) {
	for _, setting := range os.Environ() {
		if name, _, _ := strings.Cut(setting, "="); strings.HasPrefix(name, "OPENINTENT_") {
			_ = os.Unsetenv(name)
		}
	}
	var served serveCommand
	parser, err := kong.New(&served, durations)
	if err == nil {
		_, err = parser.Parse([]string{
			"--database-url=sqlite::memory:", "--http-addr=" + freeOr(c.HTTPAddr), "--grpc-addr=" + freeOr(c.GRPCAddr), "--log-level=error",
		})
	}
	served.Log, served.Version = to.stderr, version
	return served.Config, err
}

// freeOr returns an address if nobody listens there, or else one of the same host on whichever port is free.
func freeOr(address string) string {
	listener, err := net.Listen("tcp", address)
	if err == nil {
		_ = listener.Close()
		return address
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address // the server refuses it
	}
	return net.JoinHostPort(host, "0")
}

// whatToSee says where to look first.
func whatToSee(addresses server.Addresses) string {
	return fmt.Sprintf(`
A team of scripted agents works on a server on this machine, until Ctrl-C. One of them asks you something.

  The console    http://%[1]s/console    press "Continue as you"
  The documents  http://%[1]s/docs
  From a shell   %[4]s inbox --server %[2]s --agent %[3]s

`, addresses.HTTP, addresses.GRPC, demo.Person, calledAs(os.Args[0]))
}
