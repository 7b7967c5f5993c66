package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

var (
	keyIDForm  = regexp.MustCompile(`key_[0-9A-HJKMNP-TV-Z]{26}`)
	secretForm = regexp.MustCompile(`^oi_[0-9A-Za-z]{49}$`)
)

// onlyKeys runs a test against a server, with a shell of the operator whose environment names an agent.
func onlyKeys(t *testing.T, test func(t *testing.T, operator shell)) {
	clearEnvironment(t)
	operator := shell{server: harness.Start(t, harness.Options{})}
	t.Setenv("OPENINTENT_AGENT_ID", "alice")
	test(t, operator)
}

// with returns a shell that calls with another key.
func (s shell) with(secret string) func(t *testing.T, arguments ...string) outcome {
	return func(t *testing.T, arguments ...string) outcome {
		t.Helper()
		s.key = secret
		return s.run(t.Context(), arguments...)
	}
}

func TestAKeyIsMadeUsedRotatedAndRevoked(t *testing.T) {
	onlyKeys(t, func(t *testing.T, operator shell) {
		made := operator.run(t.Context(), "keys", "create", "the reviewers", "--bind", "alice", "--bind", "bob", "--role", "*", "--expires", "1h")
		require.Equal(t, exitOK, made.exit, made.stderr)
		secret := strings.TrimSpace(made.stdout)
		require.Regexp(t, secretForm, secret, "scripts get the secret alone")
		id := keyIDForm.FindString(made.stderr)
		require.Equal(t, "The key "+id+" acts as alice, bob. Keep its secret now; the server does not keep it and cannot show it again.\n",
			made.stderr)
		require.Equal(t, exitOK, operator.with(secret)(t, "intents", "list").exit)

		listed := operator.does(t, "keys")
		// The server notes the last use a little after it.
		require.Regexp(t, "^KEY STATUS ACTS AS WHERE KIND EXPIRES LAST USED LABEL\n"+id+" active alice, bob everywhere TIME (TIME )?the reviewers$",
			squeezed(masked(listed)))
		shown := squeezed(masked(operator.does(t, "keys", "show", id)))
		require.Contains(t, shown, "created TIME by configured")
		require.NotContains(t, shown, secret)

		rotated := operator.run(t.Context(), "keys", "rotate", id, "--grace", "1h")
		second := strings.TrimSpace(rotated.stdout)
		require.Regexp(t, secretForm, second)
		require.Regexp(t, "has a new secret; the one before is valid until .+ Keep its secret now", rotated.stderr)
		for _, valid := range []string{secret, second} {
			require.Equal(t, exitOK, operator.with(valid)(t, "intents", "list").exit)
		}
		rotated = operator.run(t.Context(), "keys", "rotate", id)
		require.Contains(t, rotated.stderr, "the one before is no longer valid")
		for _, former := range []string{secret, second} {
			require.Equal(t, exitRefused, operator.with(former)(t, "intents", "list").exit)
		}

		hooked := operator.server.With(second, "alice").REST(t, "POST", "/v1/subscriptions", `{"webhook_url":"https://example.com/"}`)
		require.Equal(t, 401, hooked.Status, "%s", hooked.Body)
		hooked = operator.server.With(strings.TrimSpace(rotated.stdout), "alice").REST(t, "POST", "/v1/subscriptions", `{"webhook_url":"https://example.com/"}`)
		require.Equal(t, 201, hooked.Status, "%s", hooked.Body)
		require.Regexp(t, `(?s)status revoked.*paused subscriptions sub_\w+$`, squeezed(operator.does(t, "keys", "revoke", id)))
		require.Equal(t, exitRefused, operator.with(strings.TrimSpace(rotated.stdout))(t, "intents", "list").exit)
		require.Equal(t, 0, rows(operator.does(t, "keys", "list")))
		require.Equal(t, 1, rows(operator.does(t, "keys", "list", "--status", "revoked")))
		require.Equal(t, 1, rows(operator.does(t, "keys", "list", "--status", "all")))
		require.Contains(t, operator.refused(t, exitConflict, "keys", "rotate", id), "[KEY_ENDED]")
	})
}

func TestKindsOfKeys(t *testing.T) {
	onlyKeys(t, func(t *testing.T, operator shell) {
		reader := operator.does(t, "keys", "create", "a screen", "--bind", "alice", "--human", "--read-only", "--messages-per-second", "0",
			"--bytes-per-second", "1001", "--rows-per-second", "1002", "--stored-bytes-per-second", "1003")
		refused := operator.with(reader)(t, "intents", "create", "mine")
		require.Equal(t, exitRefused, refused.exit)
		require.Contains(t, refused.stderr, "[KEY_READ_ONLY]")
		require.Regexp(t, `active alice everywhere human, read-only (\S+ \S+ )?a screen`, squeezed(operator.does(t, "keys")))
		require.Contains(t, squeezed(operator.does(t, "keys", "show", keyIDForm.FindString(operator.does(t, "keys")))),
			"messages per second 0\nbytes per second 1001\nrows per second 1002\nstored bytes per second 1003\n")

		placed := operator.run(t.Context(), "keys", "create", "a guest", "--bind", "alice", "--intent", "i", "--intent", "j", "--channel", "c")
		require.Equal(t, exitOK, placed.exit, placed.stderr)
		require.Regexp(t, `active alice intents: 2, channels: 1 (\S+ \S+ )?a guest`, squeezed(operator.does(t, "keys")))
		shown := squeezed(operator.does(t, "keys", "show", keyIDForm.FindString(placed.stderr)))
		require.Contains(t, shown, "intents i, j\nchannels c\n")
		elsewhere := operator.with(strings.TrimSpace(placed.stdout))(t, "intents", "create", "mine")
		require.Equal(t, exitRefused, elsewhere.exit)
		require.Contains(t, elsewhere.stderr, "[OUT_OF_SCOPE]")

		root := operator.run(t.Context(), "keys", "create", "root", "--operator")
		require.Contains(t, root.stderr, "acts as any agent and the operator.")
		other := operator.with(strings.TrimSpace(root.stdout))(t, "keys", "create", "another", "--bind", "zoe", "--json")
		require.Contains(t, other.stdout, `"created_by":"`+keyIDForm.FindString(root.stderr)+`"`)
		require.Contains(t, other.stdout, `"secret":"oi_`)
		require.Empty(t, other.stderr)

		require.Contains(t, operator.refused(t, exitUsage, "keys", "create", "forgotten"), "name the agents that the key acts as with --bind")
		require.Contains(t, operator.refused(t, exitUsage, "keys", "rotate", "key_x", "--grace", "25h"), "whole seconds up to a day")
		require.Contains(t, operator.refused(t, exitNotFound, "keys", "revoke", "key_x"), "[KEY_NOT_FOUND]")
		require.Contains(t, operator.refused(t, exitRefused, "keys", "--agent", "alice"), "[NOT_OPERATOR]")
	})
}

// The errors of keys create name its own flags, and not the fields of the API.
func TestKeysCreateSpeaksItsOwnFlags(t *testing.T) {
	onlyKeys(t, func(t *testing.T, operator shell) {
		for says, flags := range map[string][]string{
			"--bind AGENT, which may be repeated, or use --operator":    {},
			"leave out --operator or --bind":                            {"--operator", "--bind", "a"},
			"use --bind in place of --operator for a key":               {"--operator", "--read-only"},
			"use --bind in place of --operator, with":                   {"--operator", "--human"},
			"leave out --operator, or leave out --intent and --channel": {"--operator", "--intent", "x"},
			"a person's key has exactly one agent; use --bind once":     {"--human", "--bind", "a", "--bind", "b"},
			"--expires must be above zero":                              {"--expires=-1s", "--bind", "a"},
			"openintent: --bind: this name is reserved":                 {"--bind", "operator"},
			"openintent: --role: ":                                      {"--bind", "a", "--role", "\x01"},
			"openintent: --intent: ":                                    {"--bind", "a", "--intent", "\x01"},
			"openintent: --channel: ":                                   {"--bind", "a", "--channel", "\x01"},
			"openintent: --rows-per-second: must be":                    {"--bind", "a", "--rows-per-second=-5"},
		} {
			said := operator.refused(t, exitUsage, append([]string{"keys", "create", "x"}, flags...)...)
			require.Contains(t, said, says)
			require.NotRegexp(t, `\b(agents|roles|intents|channels|expires_at)\b(\[|:)|_per_`, said, "no field of the API")
		}
	})
}
