// Program openintent is the OpenIntent server and its command line. The server provides channels and messages between
// agents over gRPC and REST; the command line calls servers.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// commands are the verbs of the program.
type commands struct {
	Serve  serveCommand  `cmd:"" group:"Server" help:"Run the server. Needs no settings: data in ./openintent.db, REST on port 8000, gRPC on port 50051."`
	Demo   demoCommand   `cmd:"" group:"Server" help:"Start a server on a database in memory, and let a team of scripted agents play on it."`
	Health healthCommand `cmd:"" group:"Server" help:"Ask whether a server is ready."`
	Backup backupCommand `cmd:"" group:"Server" help:"Copy a SQLite database into a file, while a server serves it."`
	Check  checkCommand  `cmd:"" group:"Server" help:"Check that all rows of a database fit together; exit code 1 if not."`

	AgentData agentDataCommand `cmd:"" name:"agent-data" group:"Server" help:"Write or erase what a database has of one agent."`

	Migrate migrateCommand `cmd:"" group:"Server" help:"Bring the schema of a server's database up to date, or say what that would do."`

	Ask       askCommand       `cmd:"" group:"Messages" help:"Ask an agent or a role and print the answer."`
	Notify    notifyCommand    `cmd:"" group:"Messages" help:"Tell an agent or a role something."`
	Broadcast broadcastCommand `cmd:"" group:"Messages" help:"Tell everyone on a channel something."`
	Reply     replyCommand     `cmd:"" group:"Messages" help:"Answer a request."`
	React     reactCommand     `cmd:"" group:"Messages" help:"Say something about a message with a signal, such as working."`
	Claim     claimCommand     `cmd:"" group:"Messages" help:"Claim a request or a thread, so that others leave it to this agent."`
	Thread    threadCommand    `cmd:"" group:"Messages" help:"Show a message's thread as a tree."`
	Why       whyCommand       `cmd:"" group:"Messages" help:"Explain what a message asks of an agent."`
	Messages  messagesCommand  `cmd:"" group:"Messages" help:"List a channel's messages, or follow the channel."`
	Search    searchCommand    `cmd:"" group:"Messages" help:"Find messages by their words."`
	Owed      owedCommand      `cmd:"" group:"Messages" help:"Show which requests stay open until this agent discharges them, or discharge one."`
	Owing     owingCommand     `cmd:"" group:"Messages" help:"Show what this agent owes to others."`
	Inbox     inboxCommand     `cmd:"" group:"Messages" help:"Show what an agent has to read or to answer."`
	Concerns  concernsCommand  `cmd:"" group:"Messages" help:"Show what needs somebody: questions that wait, requests that nobody takes up, posts that fail."`

	Apply    applyCommand    `cmd:"" group:"Around them" help:"Make an intent's channels match a workflow file."`
	Channels channelsCommand `cmd:"" group:"Around them" help:"List, create, show and close channels, and change their members."`
	Intents  intentsCommand  `cmd:"" group:"Around them" help:"List, create and show intents, and change their status."`
	Agents   agentsCommand   `cmd:"" group:"Around them" help:"Show the registered agents."`
	Whoami   whoamiCommand   `cmd:"" group:"Around them" help:"Show as which agent the key acts, and what it may do."`
	Doctor   doctorCommand   `cmd:"" group:"Around them" help:"Find out why an agent is not reached, and say what to do."`
	Replay   replayCommand   `cmd:"" group:"Around them" help:"Say how attention judges what an agent received in an intent, under the rules of today or others."`
	Export   exportCommand   `cmd:"" group:"Around them" help:"Write what was said in an intent as a story, which test kits play against an agent."`
	Events   eventsCommand   `cmd:"" group:"Around them" help:"Show and verify an intent's event log."`
	Wake     wakeCommand     `cmd:"" group:"Around them" help:"Run a command that wakes an agent's harness whenever a message waits for the agent."`
	MCP      mcpCommand      `cmd:"" name:"mcp" group:"Around them" help:"Serve MCP on standard input and output, for a harness that starts it."`
	C2A      c2aCommand      `cmd:"" name:"c2a" group:"Around them" help:"Serve C2A on standard input and output, for a harness that starts it."`
	Lock     lockCommand     `cmd:"" group:"Around them" help:"Run a command while no other agent holds a scope of an intent."`

	Contacts contactsCommand `cmd:"" group:"Around them" help:"Say where the server finds you when a question waits for you."`
	Invites  invitesCommand  `cmd:"" group:"Around them" help:"Invite guests to a channel, and list and revoke invites."`
	Keys     keysCommand     `cmd:"" group:"Around them" help:"Create, list, revoke and rotate the API keys in the server's database."`

	Context    contextCommand    `cmd:"" group:"This program" help:"Store servers and keys under names."`
	Completion completionCommand `cmd:"" group:"This program" help:"Print a script that lets a shell complete commands."`
	Complete   completeCommand   `cmd:"" hidden:"" help:"Print the candidates for the last word of a command line."`
	Manual     manualCommand     `cmd:"" name:"man" group:"This program" help:"Print the manual page."`
	Version    versionCommand    `cmd:"" group:"This program" help:"Print the version."`
	Explain    helpCommand       `cmd:"" name:"help" group:"This program" help:"Show how the program, or one of its commands, is used."`

	Quiet       bool             `name:"quiet" short:"q" help:"Say nothing on standard error but warnings and errors: neither progress nor notes."`
	ShowVersion kong.VersionFlag `name:"version" help:"Print the version."`
}

// Help lists the exit codes, which all commands share.
func (commands) Help() string {
	return `Exit codes:

   0  done
   1  failed, for a reason that is not below
   2  the command line or a setting was not understood, by the program or by the server
   3  the time ran out before an answer came
   4  what was named does not exist
   5  the key is unknown, or the agent may not do that
   6  the server cannot be reached or is full
   7  the answering agent's handler failed
   8  an event log does not verify
   9  too late or taken: a closed channel, an ended intent, a name in use
  10  migrate --check: the database lacks migrations
  11  the agent that was asked said no
 130  interrupted`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the program immediately.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], standardTerminal()))
}

// run executes one command line. It prints an error as one line on stderr.
func run(ctx context.Context, arguments []string, to terminal) int {
	dropEmptySettings()
	if len(arguments) == 0 {
		arguments = []string{"--help"}
	}
	exited, code := false, exitOK
	parser := kong.Must(grammar(arguments),
		kong.Name(calledAs(os.Args[0])),
		kong.Description("Channels and messages between agents that work on one intent (RFC-0021)."),
		kong.Writers(to.stdout, to.stderr),
		// Kong asks to exit for --help while it is still parsing.
		kong.Exit(func(status int) { exited, code = true, status }),
		kong.Vars{"version": thisBuild().String()},
		durations,
		kong.BindTo(ctx, (*context.Context)(nil)),
	)
	arguments = flagsBehind(parser.Model.Node, arguments)
	parsed, err := parser.Parse(arguments)
	if exited {
		return code
	}
	if err != nil {
		to.complain(misunderstood(err, arguments))
		return exitUsage
	}
	to.quiet = isQuiet(parsed)
	if err := parsed.Run(to); err != nil {
		var code silent
		if errors.As(err, &code) {
			return int(code)
		}
		to.complain(inFlags(err, parsed))
		return exitCode(err)
	}
	return exitOK
}

// calledAs returns the program's name, as the user knows it: Python's wheel brings it as openintentd.
func calledAs(path string) string {
	if strings.TrimSuffix(filepath.Base(path), ".exe") == "openintentd" {
		return "openintentd"
	}
	return "openintent"
}

// isQuiet reports whether a command line has the program's own flag --quiet.
func isQuiet(parsed *kong.Context) bool {
	for _, flag := range parsed.Flags() {
		if flag.Name == "quiet" {
			quiet, _ := parsed.FlagValue(flag).(bool)
			return quiet
		}
	}
	return false
}

// dropEmptySettings removes environment variables that are set to the empty string. Compose files set a variable to
// nothing when they mean to leave it out.
func dropEmptySettings() {
	for _, setting := range os.Environ() {
		if name, value, _ := strings.Cut(setting, "="); strings.HasPrefix(name, "OPENINTENT_") && value == "" {
			_ = os.Unsetenv(name)
		}
	}
}
