package python

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// patience bounds one run of a program.
const patience = 5 * time.Minute

// run runs a Python program and returns what it printed.
func run(t *testing.T, arguments ...string) string {
	t.Helper()
	python, err := harness.Python()
	require.NoError(t, err, "there is no Python with the published package")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	command := exec.CommandContext(ctx, python, arguments...)
	var trouble strings.Builder
	command.Stderr = &trouble
	output, err := command.Output()
	require.NoError(t, err, "%s\n%s", output, trouble.String())
	return string(output)
}

// checksOf returns what a program prints when all its checks succeed.
func checksOf(t *testing.T, name string) (checks string) {
	t.Helper()
	program, err := os.ReadFile(name)
	require.NoError(t, err)
	for _, check := range regexp.MustCompile(`(?m)^def (check_\w+)\(`).FindAllStringSubmatch(string(program), -1) {
		checks += check[1] + "\n"
	}
	return checks
}

func TestThePublishedPackageWorksUnmodified(t *testing.T) {
	checks := checksOf(t, "drive.py")
	harness.EachProcess(t, func(t *testing.T, h *harness.Server) {
		require.Equal(t, checks, run(t, "drive.py", h.BaseURL(), harness.CompatibilityKey))
	})
}

// The snippet in the package's documentation works unchanged.
func TestTheDocumentedSnippetWorks(t *testing.T) {
	page, err := os.ReadFile("../../docs/published-python-package.md")
	require.NoError(t, err)
	snippet := regexp.MustCompile("(?s)```python\n(.*?)```").FindSubmatch(page)
	require.NotNil(t, snippet)
	h := harness.StartProcess(t, harness.Options{APIKeys: "my-key;sdk"})
	program := strings.ReplaceAll(string(snippet[1]), "http://127.0.0.1:8000", h.BaseURL())
	go answerTheFirstRequest(t, h.With("my-key", "data-agent"))
	require.Equal(t, "{'version': 'v2.3'}\n", run(t, "-c", program+"\nprint(answer['payload'])"))
}

// answerTheFirstRequest waits until there is a request to the caller on any channel, and answers it.
func answerTheFirstRequest(t *testing.T, caller *harness.Caller) {
	type thing struct{ ID string }
	for t.Context().Err() == nil {
		var intents struct{ Intents []thing }
		caller.REST(t, "GET", "/v1/intents", "").Decode(t, &intents)
		for _, intent := range intents.Intents {
			var channels, requests []thing
			caller.REST(t, "GET", "/v1/intents/"+intent.ID+"/channels", "").Decode(t, &channels)
			for _, channel := range channels {
				messages := fmt.Sprintf("/v1/channels/%s/messages", channel.ID)
				caller.REST(t, "GET", messages+"?to="+caller.Agent, "").Decode(t, &requests)
				if len(requests) > 0 {
					caller.REST(t, "POST", messages+"/"+requests[0].ID+"/reply", `{"payload":{"version":"v2.3"}}`)
					return
				}
			}
		}
	}
}
