package documents

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/server"
)

// receiver is the address to which the documents' webhooks are posted.
const receiver = "127.0.0.1:9000"

// freeAddress returns an address of this machine on which nobody listens. Its port is none that the system gives to those who ask for any,
// because it must still be free when a page uses it.
func freeAddress(t *testing.T) string {
	t.Helper()
	const first, ports = 30000, 2000
	for {
		address := fmt.Sprintf("127.0.0.1:%d", first+rand.IntN(ports))
		if listener, err := net.Listen("tcp", address); err == nil {
			require.NoError(t, listener.Close())
			return address
		}
	}
}

// Each page with snippets runs from top to bottom against its own server.
func TestSnippetsDoWhatTheyShow(t *testing.T) {
	for _, name := range pages(t) {
		found := snippets(readDocument(t, name))
		if len(found) == 0 {
			continue // a page of prose and tables
		}
		t.Run(name, func(t *testing.T) {
			h := harness.StartProcess(t, harness.Options{Flags: []string{"--api-keys=", "--webhook-allowed-networks=127.0.0.0/8"}})
			addresses := strings.NewReplacer(
				server.DefaultConfig().HTTPAddr, strings.TrimPrefix(h.BaseURL(), "http://"),
				server.DefaultConfig().GRPCAddr, h.GRPCAddress(),
				receiver, freeAddress(t),
			)
			shell := newShell(t)
			for _, s := range found {
				s.commands = addresses.Replace(s.commands)
				runSnippet(t, shell, fmt.Sprintf("%s:%d", name, s.line), s)
			}
		})
	}
}

// runSnippet runs a block, repeatedly if it is marked so, and compares the output.
func runSnippet(t *testing.T, shell *shell, where string, s snippet) {
	t.Helper()
	for deadline := time.Now().Add(harness.Patience); ; {
		output, exit := shell.run(t, s.commands)
		as := fmt.Sprintf("%s\n%s\nprinted, with exit code %d:\n%s\n%s", where, s.commands, exit, output, shell.errors)
		matches, err := shows(s, output)
		if s.repeated && time.Now().Before(deadline) && (exit != 0 || !matches) {
			continue
		}
		require.NoError(t, err, as)
		require.Zero(t, exit, as)
		require.True(t, matches, "the document shows something else:\n%s", as)
		return
	}
}

// shows reports whether the output is what the document shows, apart from ids, times and JSON's line breaks.
func shows(s snippet, output string) (bool, error) {
	shown, printed := masked(s.shown), masked(output)
	if s.form != "json" {
		return strings.TrimSpace(shown) == strings.TrimSpace(printed), nil
	}
	expected, err := compactJSON(shown)
	if err != nil {
		return false, fmt.Errorf("the document's JSON: %w", err)
	}
	actual, err := compactJSON(printed)
	return err == nil && expected == actual, nil
}

// compactJSON writes a sequence of JSON values without spaces, with sorted keys.
func compactJSON(text string) (string, error) {
	var compact bytes.Buffer
	for decoder := json.NewDecoder(strings.NewReader(text)); ; {
		var value any
		if err := decoder.Decode(&value); errors.Is(err, io.EOF) {
			return compact.String(), nil
		} else if err != nil {
			return "", err
		}
		line, err := json.Marshal(value)
		if err != nil {
			return "", err
		}
		compact.Write(append(line, '\n'))
	}
}

var (
	idForm   = regexp.MustCompile(`\b(chan|msg|task|sub|key)_[0-9A-HJKMNP-TV-Z]{26}\b|\bcon_[a-z2-7]{26}\b|\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`)
	timeForm = regexp.MustCompile(`\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d\.\d{6}Z| \d\d:\d\d:\d\d)`)
	hashForm = regexp.MustCompile(`sha256:[A-Za-z0-9_-]{43}`)
	keyForm  = regexp.MustCompile(`oi_[0-9A-Za-z]{49}|ocs_[0-9A-Za-z_-]{43}`)
)

// masked replaces times, hashes and the secrets of keys and sessions, and numbers ids in the order of their appearance. So two ids that are equal in
// the document must be equal in the output.
func masked(text string) string {
	numbers := make(map[string]string)
	text = idForm.ReplaceAllStringFunc(text, func(id string) string {
		if _, known := numbers[id]; !known {
			numbers[id] = fmt.Sprintf("id-%d", len(numbers)+1)
		}
		return numbers[id]
	})
	text = keyForm.ReplaceAllString(text, "secret")
	return hashForm.ReplaceAllString(timeForm.ReplaceAllString(text, "time"), "hash")
}
