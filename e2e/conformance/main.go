package main

import (
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strings"

	"openintent/e2e/harness"
	"openintent/server"
)

func main() {
	suite := flag.String("suite", "", "the suite's `file` for Node.js")
	scenario := flag.String("scenario", "", "run this `scenario` alone")
	flag.Parse()
	os.Exit(harness.Alone(func(tb *harness.Program) int {
		target := harness.Start(tb, harness.Options{Configure: func(cfg *server.Config) { cfg.Version = "conformance" }})
		front := httptest.NewServer(withKey(tb, target))
		defer front.Close()
		failed := 0
		for _, revision := range []string{"2026-07-28", "2025-11-25"} {
			results := tb.TempDir()
			arguments := []string{
				*suite, "server", "--url", front.URL + "/mcp", "--output-dir", results,
				"--expected-failures", "e2e/conformance/expected-failures/" + revision + ".yaml",
			}
			switch {
			case *scenario == "":
				arguments = append(arguments, "--requirements", revision)
			case ofExtension(*scenario) && revision != extensionRevision:
				continue
			case ofExtension(*scenario):
				arguments = append(arguments, "--scenario", *scenario, "--spec-version", revision, "--force")
			default:
				arguments = append(arguments, "--scenario", *scenario, "--spec-version", revision)
			}
			fmt.Println("\n=== revision", revision)
			failed |= run(tb, arguments)
			if revision == extensionRevision && *scenario == "" {
				failed |= judgeExtension(tb, results)
			}
		}
		return failed
	}))
}

// withKey returns a proxy to the server that adds the key and the agent, because the suite shows no credentials. It changes nothing
// else: the server sees the Host and the Origin that the suite sent.
func withKey(tb *harness.Program, to *harness.Server) http.Handler {
	target, err := url.Parse(to.BaseURL())
	if err != nil {
		tb.Fatal(err)
	}
	return &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
			r.Out.Header.Set("X-API-Key", harness.Key)
			r.Out.Header.Set("X-Agent-ID", "conformance")
		},
	}
}

// run runs the suite, prints what it says, and returns its exit code.
func run(tb *harness.Program, arguments []string) int {
	command := exec.Command("node", arguments...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	err := command.Run()
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		return ended.ExitCode()
	case err != nil:
		tb.Fatal("running node ", strings.Join(arguments, " "), ": ", err)
	}
	return 0
}
