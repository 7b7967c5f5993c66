package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatIsOwedIsListedAndDischarged(t *testing.T) {
	onChannel(t, func(t *testing.T, alice, bob shell) {
		request := alice.does(t, "ask", "data", "bob", "{}", "--no-wait", "--obligation", "halted", "--delegate", "dora", "--subject", "the lock")
		for _, listed := range []string{alice.does(t, "owed"), bob.does(t, "owing")} {
			require.Contains(t, listed, request)
			require.Regexp(t, `^MESSAGE FROM TO BLOCKS SINCE DELEGATE SUBJECT\n\S+ alice bob halted TIME dora the lock$`, squeezed(masked(listed)))
		}
		require.Contains(t, bob.does(t, "owing", "--json"), `"obligation":{"blocks":"halted","delegate":"dora"}`)
		require.NotContains(t, bob.does(t, "owed"), "msg_")
		require.Contains(t, bob.refused(t, exitRefused, "owed", "--discharge", request), "[NOT_THE_AUTHOR]")
		closed := masked(alice.does(t, "owed", "--discharge", request, "--note", "it works"))
		require.Contains(t, closed, "it works")
		require.Contains(t, closed, "alice")
		require.NotContains(t, bob.does(t, "owing"), "msg_")
		require.Contains(t, alice.refused(t, exitUsage, "owed", "--note", "x"), "--note goes with --discharge")
		require.Contains(t, alice.refused(t, exitUsage, "ask", "data", "bob", "{}", "--delegate", "dora"), "--delegate goes with --obligation")
	})
}
