package message_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/internal/caller"
	"openintent/internal/jsonvalue"
	"openintent/messaging/message"
)

// payloadOf makes a payload of one member.
func payloadOf(member, text string) jsonvalue.Object {
	var object jsonvalue.Builder
	return object.String(member, text).Object()
}

func TestNamesAreFoundInATextAsWholeWords(t *testing.T) {
	for text, names := range map[string][]string{
		"":                              nil,
		"nobody":                        nil,
		"@":                             nil,
		"@ bob":                         nil,
		"@bob":                          {"bob"},
		"hello @bob, look":              {"bob"},
		"is it you, @bob?":              {"bob"},
		"ask @bob.":                     {"bob"},
		"@bob: look":                    {"bob"},
		"@bob--look":                    {"bob--look"},
		"@bob- no":                      {"bob"},
		"(@bob)":                        {"bob"},
		"**@bob**":                      {"bob"},
		"@agent.v2 and @agent-3":        {"agent.v2", "agent-3"},
		"@bob @carol @bob":              {"bob", "carol"},
		"@Bob @bob":                     {"Bob", "bob"},
		"@bob@carol":                    {"bob"},
		"@@bob":                         nil,
		"bob@example.org":               nil,
		"@role:tester":                  {"role:tester"},
		"@role:":                        nil,
		"@role":                         nil,
		"@role: tester":                 nil,
		"@roles":                        {"roles"},
		"@ära":                          {"ära"},
		"x\n@bob\n":                     {"bob"},
		"@.bob":                         nil,
		"@bob\x7f":                      {"bob"},
		"@" + strings.Repeat("a", 262):  nil,
		"`@bob`":                        nil,
		"`x` @bob `y`":                  {"bob"},
		"`@bob` @carol":                 {"carol"},
		"``a ` @bob `` @carol":          {"carol"},
		"an open ` and @bob":            {"bob"},
		"an open `` and ` @bob `":       nil,
		"`open\n\n@bob `":               {"bob"},
		"`one\n@bob two` @carol":        {"carol"},
		"```\n@bob\n```\n@carol":        {"carol"},
		"```go\n@bob\n```":              nil,
		"~~~\n@bob\n```\n@x\n~~~\n@eve": {"eve"},
		"````\n```\n@bob\n````\n@eve":   {"eve"},
		"```\n@bob":                     nil,
		"```x``` @bob":                  {"bob"},
		"   ```\n@bob\n```":             nil,
		"@a\n```\n@b\n``` \n@c":         {"a", "c"},
		"```\n@bob\n``` not\n@carol":    nil,
	} {
		require.Equal(t, names, message.WordsWithAt(payloadOf("text", text)), "%q", text)
	}
}

// A name has as many characters as an agent's id with the prefix of a role, and none more.
func TestTheLongestName(t *testing.T) {
	longest := strings.Repeat("ä", len(caller.RolePrefix)+caller.MaxNameLength)
	require.Equal(t, []string{longest}, message.WordsWithAt(payloadOf("text", "@"+longest)))
	require.Empty(t, message.WordsWithAt(payloadOf("text", "@"+longest+"ä")))
}

func TestNamesAreFoundInTheTextsOfAPayload(t *testing.T) {
	payload := jsonvalue.Object(`{"text":"@a","note":"@b","content":"@c","question":"@d @a","more":{"text":"@e"}}`)
	require.Equal(t, []string{"a", "c", "d"}, message.WordsWithAt(payload))
	require.Nil(t, message.WordsWithAt(jsonvalue.Object(`{"text":["@a"],"content":{"text":"@a"},"question":7}`)))
	require.Nil(t, message.WordsWithAt(jsonvalue.Object(`{"@a":"@b"}`)))
	require.Nil(t, message.WordsWithAt(nil))
}

func TestOnlySomeNamesAreFound(t *testing.T) {
	var text strings.Builder
	for i := range 2 * message.MaxMentions {
		fmt.Fprintf(&text, "@agent-%d ", i)
	}
	found := message.WordsWithAt(payloadOf("content", text.String()))
	require.Len(t, found, message.MaxMentions)
	require.Equal(t, "agent-0", found[0])
}

func TestTheLookForNamesCostsAPayloadWithoutThemNothing(t *testing.T) {
	payload := payloadOf("text", strings.Repeat("nothing of that kind ", 100))
	require.Zero(t, testing.AllocsPerRun(100, func() { message.WordsWithAt(payload) }))
}

func FuzzWordsWithAt(f *testing.F) {
	for _, text := range []string{"@bob", "`@bob` @role:x", "```\n@a\n```", "@\xff", "~~~@~~~", "``@`@``@"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "?")
		found := message.WordsWithAt(payloadOf("text", text))
		require.LessOrEqual(t, len(found), message.MaxMentions)
		seen := make(map[string]bool)
		for _, name := range found {
			require.Contains(t, text, "@"+name)
			require.False(t, seen[name], "%q comes twice", name)
			seen[name] = true
		}
	})
}
