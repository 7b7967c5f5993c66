package main

import (
	"cmp"
	"crypto/tls"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	openintent "openintent/sdk/go"
)

// connection holds the settings of a command's connection: the server, the key and the agent. Every command that
// calls a server embeds it.
//
// A setting comes from the first of these that has it: the flag, the context that --context names, the environment,
// the current context of the configuration file, the default. A context that is named on the command line precedes
// the environment because the user named it on purpose.
type connection struct {
	Server         string        `group:"Connection" placeholder:"HOST:PORT" help:"Server (gRPC), as host:port or https://host:port ($$OPENINTENT_SERVER, else 127.0.0.1:50051)."`
	APIKey         string        `group:"Connection" name:"api-key" placeholder:"KEY" help:"API key ($$OPENINTENT_API_KEY, else the development key for a server on this machine)."`
	Agent          string        `complete:"agents" group:"Connection" placeholder:"ID" help:"Agent to act as ($$OPENINTENT_AGENT_ID, else the key's own agent or the operator)."`
	TLS            bool          `group:"Connection" name:"tls" help:"Use TLS ($$OPENINTENT_TLS=1; an https:// server implies it)."`
	CAFile         string        `group:"Connection" name:"ca-file" type:"path" placeholder:"FILE" help:"Trust these certificates (PEM) for the server, instead of the system's; implies TLS ($$OPENINTENT_CA_FILE)."`
	Patience       time.Duration `group:"Connection" env:"OPENINTENT_PATIENCE" default:"30s" placeholder:"DURATION" help:"How long to try again while the server is away (30s)."`
	ConnectTimeout time.Duration `group:"Connection" placeholder:"DURATION" help:"How long to try while there is no connection ($$OPENINTENT_CONNECT_TIMEOUT, else 5s on a terminal for a server on this machine, else --patience)." env:"OPENINTENT_CONNECT_TIMEOUT"`
	Context        string        `complete:"contexts" group:"Connection" placeholder:"NAME" help:"Context of the configuration file to use ($$OPENINTENT_CONTEXT, else the current one)."`
}

// defaultServer is the address on which a server listens that was started without settings.
const defaultServer = "127.0.0.1:50051"

// target is the result of resolving a connection: where to connect, and as which agent.
type target struct {
	// server is host:port.
	server, key, agent string
	tls                bool
	// caFile is empty for the system's certificates.
	caFile string
}

// resolve determines the target from flags, environment and configuration file.
func (c connection) resolve(to terminal) (target, error) {
	saved, err := chosenContext(c.Context, to)
	if err != nil {
		return target{}, err
	}
	variables, err := fromEnvironment()
	if err != nil {
		return target{}, err
	}
	flags := &savedContext{Server: c.Server, APIKey: c.APIKey, Agent: c.Agent, TLS: c.TLS, CAFile: c.CAFile}
	sources := []*savedContext{flags, variables, saved}
	if c.Context != "" {
		sources = []*savedContext{flags, saved, variables}
	}
	address := firstOf(sources, func(s *savedContext) string { return s.Server })
	if address == "" {
		address = defaultServer
	}
	setting := "the server of the context"
	switch address {
	case c.Server:
		setting = "--server"
	case variables.Server:
		setting = "OPENINTENT_SERVER"
	}
	if saved.Server != address {
		// A context's settings belong to its own server. Above all, its key goes nowhere else.
		*saved = savedContext{}
	}
	t := target{
		key:    firstOf(sources, func(s *savedContext) string { return s.APIKey }),
		agent:  firstOf(sources, func(s *savedContext) string { return s.Agent }),
		caFile: firstOf(sources, func(s *savedContext) string { return s.CAFile }),
	}
	t.tls = t.caFile != "" || slices.ContainsFunc(sources, func(s *savedContext) bool { return s.TLS })
	return t.at(setting, address)
}

func fromEnvironment() (*savedContext, error) {
	variables := &savedContext{
		Server: os.Getenv("OPENINTENT_SERVER"), APIKey: os.Getenv("OPENINTENT_API_KEY"),
		Agent: os.Getenv("OPENINTENT_AGENT_ID"), CAFile: os.Getenv("OPENINTENT_CA_FILE"),
	}
	if text := os.Getenv("OPENINTENT_TLS"); text != "" {
		on, err := strconv.ParseBool(text)
		if err != nil {
			return nil, usagef("OPENINTENT_TLS must be 1 or 0, not %q", text)
		}
		variables.TLS = on
	}
	return variables, nil
}

func firstOf(sources []*savedContext, setting func(*savedContext) string) string {
	for _, source := range sources {
		if value := setting(source); value != "" {
			return value
		}
	}
	return ""
}

// at reads an address, which may be a URL; the setting is where it comes from. A server on this machine gets the
// development key when no other key was given: servers without configured keys listen nowhere else.
func (t target) at(setting, text string) (target, error) {
	address, err := openintent.ParseAddress(setting, text)
	if err != nil {
		return target{}, err
	}
	if strings.ContainsFunc(t.key+t.agent, func(c rune) bool { return c < ' ' || c > '~' }) {
		return target{}, usagef("keys and agents that are sent with a call consist of printable ASCII characters")
	}
	t.server = address.Target
	t.tls = t.tls || address.Scheme == "https"
	if t.key == "" {
		t.key = address.DefaultKey()
	}
	return t, nil
}

// dial makes a command's client. It does not connect yet.
func (c connection) dial(to terminal) (*openintent.Client, error) {
	target, err := c.resolve(to)
	if err != nil {
		return nil, err
	}
	for _, sentence := range openintent.MisspeltVariables(os.Environ()) {
		to.warn("%s", sentence)
	}
	options := openintent.Options{
		Server: target.server, APIKey: target.key, AgentID: target.agent, CAFile: target.caFile, RetryPatience: c.Patience,
		OnRetry: c.sayOnce(to, target.server), ConnectTimeout: cmp.Or(c.connectTimeout(isTerminal(to.stderr), target.server), -1), // -1: no bound
		Log: slog.New(slog.DiscardHandler), // what it says, the command says itself
	}
	if target.tls {
		options.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	client, err := openintent.Dial(options)
	var refused *openintent.Error
	if errors.As(err, &refused) && refused.Violations[0].Field == "Options.CAFile" {
		return nil, usagef("the setting for certificates (--ca-file) %s", refused.Violations[0].Description)
	}
	return client, err
}

// connectTimeout returns how long the command tries while it gets no connection; 0 for as long as it tries anything. A person
// at a terminal learns soon that nobody listens on this machine.
func (c connection) connectTimeout(watched bool, server string) time.Duration {
	address, err := openintent.ParseAddress("--server", server)
	if c.ConnectTimeout > 0 || !watched || err != nil {
		return c.ConnectTimeout
	}
	return address.LocalConnectTimeout()
}

// sayOnce returns what tells the user, once, that a command waits for a server that is away. A command that soon gives up
// says that itself.
func (c connection) sayOnce(to terminal, server string) func(error) {
	var once sync.Once
	return func(err error) {
		if c.Patience < time.Second || !errors.Is(err, openintent.ErrUnavailable) {
			return
		}
		once.Do(func() {
			to.note("openintent: cannot reach the server at %s and keeps trying: %s", server, sentence(err))
		})
	}
}

// called converts the error of a generated client into the SDK's.
func called[T any](answer T, err error) (T, error) { return answer, openintent.FromError(err) }
