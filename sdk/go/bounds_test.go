package openintent

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	openintentv1 "openintent/gen/openintent/v1"
)

func TestTextsOutOfBoundsAreRefusedBeforeTheyAreSent(t *testing.T) {
	client, err := Dial(Options{Server: refusing(t), AgentID: "me"}) // a call that is sent fails in another way
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	long := func(length int) string { return strings.Repeat("ä", length) }
	for says, call := range map[string]func() error{
		"subject has 201 characters; use 1 to 200.": func() error {
			_, err := client.SendMessage(t.Context(), "c", Draft{Conversation: Conversation{Subject: long(201)}})
			return err
		},
		"to has 262 characters; use 0 to 261.": func() error { _, err := client.SendMessage(t.Context(), "c", Draft{To: long(262)}); return err },
		"kind has 65 characters; use 1 to 64.": func() error {
			_, err := client.Ask(t.Context(), "c", Question{To: "b", Conversation: Conversation{Kind: long(65)}})
			return err
		},
		"title has 1025 characters; use 1 to 1024.": func() error { _, err := client.CreateIntent(t.Context(), IntentOptions{Title: long(1025)}); return err },
		"name may not contain a slash.":             func() error { _, err := client.Open(t.Context(), "i", "a/b", ChannelOptions{}); return err },
		"name must hold at least one character that is not white space.": func() error {
			_, err := client.CreateChannel(t.Context(), "i", " ", ChannelOptions{})
			return err
		},
		"name may not contain control characters.": func() error { _, err := client.Open(t.Context(), "i", "a\nb", ChannelOptions{}); return err },
		"name is the name of the server's own channel; choose another name.": func() error {
			_, err := client.Open(t.Context(), "i", "_system", ChannelOptions{})
			return err
		},
	} {
		err := call()
		require.ErrorIs(t, err, ErrInvalidArgument, says)
		require.EqualError(t, err, "INVALID_FIELD: "+says)
	}
	require.NoError(t, checkBounds(&openintentv1.SendMessageRequest{Subject: optional(long(200)), To: optional(long(261))}))
	require.NoError(t, checkBounds(&openintentv1.SendMessageRequest{}))
}

func TestAnAgentsIDIsCheckedWhenTheClientIsMade(t *testing.T) {
	for id, says := range map[string]string{
		"a/b": "may not contain a slash", "ä": "must consist of printable ASCII characters", "a\nb": "must consist of printable",
		strings.Repeat("a", 257): "has 257 characters; use 1 to 256", "operator": "is reserved", "system": "is reserved", "role:data": "is reserved",
	} {
		_, err := Dial(Options{AgentID: id})
		require.ErrorIs(t, err, ErrInvalidArgument, id)
		require.ErrorContains(t, err, "Options.AgentID ", id)
		require.ErrorContains(t, err, says, id)
	}
	require.NoError(t, checkAgentID("", strings.Repeat("a", 256)))
	t.Setenv("OPENINTENT_AGENT_ID", "a/b")
	_, err := Dial(Options{})
	require.ErrorContains(t, err, "OPENINTENT_AGENT_ID may not contain a slash")
	client, err := Dial(Options{AgentID: "me"})
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	require.ErrorContains(t, client.Agent(AgentOptions{ID: "x/y"}).Run(t.Context()), "AgentOptions.ID may not contain a slash")
}

// The other SDKs have the bounds of the contract as a table, because their protos leave them out.
func TestTheTablesOfBoundsAreThoseOfTheContract(t *testing.T) {
	var python, typescript []string
	protoregistry.GlobalFiles.RangeFilesByPackage("openintent.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			for j := range file.Services().Get(i).Methods().Len() {
				input := file.Services().Get(i).Methods().Get(j).Input()
				var snake, camel []string
				for _, b := range boundsOf(input) {
					snake = append(snake, fmt.Sprintf("%q: (%d, %d)", b.field.Name(), b.least, b.most))
					camel = append(camel, fmt.Sprintf("%s: [%d, %d]", b.field.JSONName(), b.least, b.most))
				}
				if len(snake) > 0 && slices.Contains(bounded, string(input.Name())) {
					python = append(python, fmt.Sprintf("    %q: {\n        %s,\n    },\n", input.Name(), strings.Join(snake, ",\n        ")))
					typescript = append(typescript, fmt.Sprintf("  %s: { %s },\n", input.Name(), strings.Join(camel, ", ")))
				}
			}
		}
		return true
	})
	for path, lines := range map[string][]string{
		"../python/src/openintent_channels/_bounds.py": python, "../typescript/src/bounds.ts": typescript,
	} {
		slices.Sort(lines)
		lines = slices.Compact(lines)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		table := regexp.MustCompile(`(?sm)((?:BOUNDS[^\n]*|bounds) = \{\n)(.*?)(^\})`)
		found := table.FindStringSubmatch(string(text))
		require.NotNil(t, found, path)
		want := strings.Join(lines, "")
		if os.Getenv("OPENINTENT_TEST_UPDATE") != "" {
			at := table.FindStringSubmatchIndex(string(text))
			require.NoError(t, os.WriteFile(path, []byte(string(text)[:at[4]]+want+string(text)[at[5]:]), 0o644))
			continue
		}
		require.Equal(t, want, found[2], "write it anew with: OPENINTENT_TEST_UPDATE=1 go test ./sdk/go -run %s", t.Name())
	}
}

// bounded are the requests of the SDKs' calls that have texts of a caller.
var bounded = []string{
	"SendMessageRequest", "ReplyMessageRequest", "AskRequest", "AskAllRequest", "EditMessageRequest", "ListMessagesRequest", "CreateIntentRequest",
	"SetIntentStatusRequest", "CreateChannelRequest", "ListIntentsRequest", "ListAgentsRequest", "RegisterAgentRequest", "AcquireLeaseRequest",
	"AddReactionRequest", "SearchMessagesRequest", "DischargeObligationRequest", "SetDispositionRequest", "ClaimMessageRequest",
}
