package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"openintent/server"
)

// The names of what asks through a kit, as the flag -sdks takes them.
const (
	byBareCalls  = "bare"
	byGo         = "go"
	byThreads    = "threads"
	byAsyncio    = "asyncio"
	byTypeScript = "typescript"
	byPublished  = "published"
)

// sdkNames are in the order of measurement.
var sdkNames = []string{byBareCalls, byGo, byThreads, byAsyncio, byTypeScript, byPublished}

// sdkProgram describes how to start an SDK's load. After its arguments come `answer` or `ask`, the server, the key,
// the channel's id and the responder.
type sdkProgram struct {
	name, agent string
	// work is the load's job.
	work      string
	command   []string
	variables []string
	// echoes are the same calls by the SDK's gRPC library alone.
	echoes []sdkProgram
}

func (p sdkProgram) start(ctx context.Context, part, address, channel string) (*peer, error) {
	arguments := append(p.command[1:len(p.command):len(p.command)], part, address, server.DevelopmentKey, channel, p.agent)
	return startPeer(ctx, "env", append(append(p.variables[:len(p.variables):len(p.variables)], p.command[0]), arguments...)...)
}

// echoing returns the loads that ask a server which stores nothing: by the way of an ask, and with unary calls alone.
func echoing(library, agent string, command, variables []string) []sdkProgram {
	load := sdkProgram{name: library + echoSuffix, agent: agent, work: "ask", command: command, variables: variables}
	unary := load
	unary.name, unary.work = library+", unary calls", "unary"
	return []sdkProgram{load, unary}
}

// sdkPrograms prepares what each chosen SDK's load needs. It leaves out an SDK whose language is not installed.
func (c *comparison) sdkPrograms(ctx context.Context) (programs []sdkProgram, err error) {
	if slices.Contains(c.sdkNames, byGo) {
		if programs, err = c.goPrograms(); err != nil {
			return nil, err
		}
	}
	programs = append(programs, c.pythonPrograms(ctx)...)
	typeScript, err := c.typeScriptPrograms(ctx)
	return append(programs, typeScript...), err
}

// goPrograms returns the Go SDK's load, which is this program.
func (c *comparison) goPrograms() ([]sdkProgram, error) {
	own, err := os.Executable()
	return []sdkProgram{{name: goSDK, agent: "go-responder", work: "ask", command: []string{own, sdkLoad}}}, err
}

func (c *comparison) pythonPrograms(ctx context.Context) (programs []sdkProgram) {
	threads, asyncio := slices.Contains(c.sdkNames, byThreads), slices.Contains(c.sdkNames, byAsyncio)
	if !threads && !asyncio {
		return nil
	}
	python, err := outputOf(ctx, "scripts/python-env.sh", "python-sdk", "sdk/python/requirements-test.txt")
	if err != nil {
		c.leaveOut("the Python SDK, for which there is no Python")
		return nil
	}
	source := []string{"PYTHONPATH=sdk/python/src"}
	load := sdkProgram{command: []string{python, filepath.Join(c.peers, "sdks", "ask.py")}, variables: source}
	if threads {
		load.name, load.agent, load.work = "Python SDK, threads", "python-responder", "ask"
		programs = append(programs, load)
	}
	if asyncio {
		load.name, load.agent, load.work = asyncioSDK, "asyncio-responder", "ask async"
		load.echoes = echoing(asyncioLibrary, load.agent, []string{python, filepath.Join(c.peers, "sdks", "echo.py")}, source)
		programs = append(programs, load)
	}
	return programs
}

// typeScriptPrograms compiles the package again, so that it matches its sources.
func (c *comparison) typeScriptPrograms(ctx context.Context) ([]sdkProgram, error) {
	if !slices.Contains(c.sdkNames, byTypeScript) {
		return nil, nil
	}
	_, err := outputOf(ctx, "scripts/node-env.sh")
	if err == nil {
		_, err = outputOf(ctx, "npm", "--prefix", "sdk/typescript", "run", "--silent", "build")
	}
	if err != nil {
		c.leaveOut("the TypeScript SDK, for which there is no Node.js")
		return nil, nil //nolint:nilerr // the results say that it is left out
	}
	entry, err := filepath.Abs("sdk/typescript/dist/index.js")
	command := func(load string) []string { return []string{"node", filepath.Join(c.peers, "sdks", load), entry} }
	agent := "typescript-responder"
	return []sdkProgram{{
		name: typeScriptSDK, agent: agent, work: "ask", command: command("ask.mjs"),
		echoes: echoing(typeScriptLibrary, agent, command("echo.mjs"), nil),
	}}, err
}

// outputOf returns the last line that a program prints.
func outputOf(ctx context.Context, program string, arguments ...string) (string, error) {
	run := exec.CommandContext(ctx, program, arguments...)
	run.Stderr = os.Stderr
	text, err := run.Output()
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1], err
}
