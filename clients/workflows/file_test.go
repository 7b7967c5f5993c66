package workflows

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
)

const (
	explicit = openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT
	intent   = openintentv1.MemberPolicy_MEMBER_POLICY_INTENT
)

func pointer[T any](value T) *T { return &value }

func TestLoadReadsTheExampleOfTheRFC(t *testing.T) {
	path := filepath.Join("testdata", "rfc-0021.yaml")
	file, err := Load(path)
	require.NoError(t, err)
	require.Equal(t, &File{
		Name: path, Workflow: "Research Q1 Financials", Title: "Research Q1 Financials",
		Channels: []Channel{
			{
				At: Position{6, 3}, Name: "data-clarification", Members: []string{"research-agent", "data-agent"},
				Policy: explicit, Audit: true, MaxMessages: 1000, TurnBudget: 20,
			},
			{At: Position{11, 3}, Name: "progress", Policy: intent, MaxMessages: 1000, TurnBudget: 20},
		},
	}, file)
}

func TestLoadReadsTheOtherHeader(t *testing.T) {
	path := filepath.Join("testdata", "phases.yaml")
	file, err := Load(path)
	require.NoError(t, err)
	require.Equal(t, &File{
		Name: path, Workflow: "Quarterly report", Title: "Quarterly report", Description: "Figures, then words.",
		Channels: []Channel{
			{
				At: Position{32, 3}, Name: "hand-over", Members: []string{"research-agent", "writer"},
				Policy: explicit, TTLSeconds: pointer(int64(86400)), MaxMessages: 50, TurnBudget: 8,
			},
			{
				At: Position{40, 3}, Name: "review", Members: []string{"research-agent", "writer"},
				Policy: intent, Audit: true, MaxMessages: 1000, TurnBudget: 20,
			},
			{At: Position{44, 3}, Name: "open house", Policy: intent, MaxMessages: 1000, TurnBudget: 20},
		},
	}, file)
}

func TestLoadSaysWhyAFileCannotBeRead(t *testing.T) {
	_, err := Load(filepath.Join(t.TempDir(), "missing.yaml"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Load(t.TempDir())
	require.ErrorIs(t, err, ErrUnreadable)
}

func TestParseTakes(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want File
	}{
		"a header alone":             {"version: '1.0'\n", File{}},
		"a version without quotes":   {"version: 1.0\n", File{}},
		"nothing in the blocks":      {"version: '1.0'\nintent:\nchannels:\nagents:\n", File{}},
		"an intent's id":             {"version: '1.0'\nintent: {id: i1}\n", File{IntentID: "i1"}},
		"an id left empty":           {"version: '1.0'\nintent: {id: '', title: T}\n", File{Title: "T", Workflow: "T"}},
		"unknown keys of others":     {"version: '1.0'\nllm: {model: [x]}\n1: 2\nintent: {title: T, tags: [a]}\n", File{Title: "T", Workflow: "T"}},
		"an intent beside a name":    {"openintent: '1.0'\ninfo: {name: N}\nintent: {title: T}\n", File{Title: "T", Workflow: "N"}},
		"a byte order mark":          {"\ufeffversion: '1.0'\nintent: {title: T}\n", File{Title: "T", Workflow: "T"}},
		"lines ended as on Windows":  {"version: '1.0'\r\nintent:\r\n  title: T\r\n", File{Title: "T", Workflow: "T"}},
		"a key that is an alias":     {"version: '1.0'\nx: &k title\nintent: {*k : T}\n", File{Title: "T", Workflow: "T"}},
		"agents without handlers":    {"version: '1.0'\nagents: {a: null, operator: {}, b: x}\n", File{}},
		"an agent without a channel": {"version: '1.0'\nagents: {a: {on_message: [{handler: h, channel: null}]}}\n", File{}},
		"a description":              {"version: '1.0'\nintent: {title: T, description: D}\n", File{Title: "T", Workflow: "T", Description: "D"}},
		"a document's marks":         {"---\nversion: '1.0'\n...\n", File{}},
		"one value of an extra kind": {"version: '1.0'\nx: !secret y\n", File{Unknown: []Key{{Position{2, 1}, "x"}}}},
		"what channels may have besides": {
			"version: '1.0'\nchannels: {a: {history: from_join}, b: {history: all, conversation_budget: 7, task_id: t1}}\n",
			File{Channels: []Channel{
				{At: Position{2, 12}, Name: "a", Policy: intent, MaxMessages: 1000, TurnBudget: 20, FromJoin: true},
				{
					At: Position{2, 37}, Name: "b", Policy: intent, MaxMessages: 1000, TurnBudget: 20,
					ConversationBudget: pointer(int64(7)), TaskID: "t1",
				},
			}},
		},
		"keys of its own": {"version: '1.0'\nx-all: 1\n.all: 1\n_all: 1\nall: &all {}\nchanels: {}\n", File{Unknown: []Key{{Position{6, 1}, "chanels"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			file, err := Parse("w.yaml", []byte(c.text))
			require.NoError(t, err)
			c.want.Name = "w.yaml"
			require.Equal(t, &c.want, file)
		})
	}
}

// begin is a header in one line, so the text after it begins on line 2.
const begin = "version: '1.0'\n"

func TestParseNamesEachMistakeWithItsPlace(t *testing.T) {
	long := strings.Repeat("x", 300)
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"an empty file":   {"", []string{"1:1: the file is empty; it begins with"}},
		"comments only":   {"# nothing\n", []string{"1:1: the file is empty"}},
		"an empty object": {"---\n", []string{"1:1: the file is empty"}},
		"a list":          {"- a\n", []string{"1:1: a workflow file must be a mapping, not a list."}},
		"a text":          {"hello\n", []string{`1:1: a workflow file must be a mapping, not the text "hello".`}},
		"too large":       {"#" + strings.Repeat("x", maxFileBytes), []string{"1:1: the file is larger than 1048576 bytes"}},
		"not UTF-8":       {begin + "intent: {title: \"caf\xe9\"}\n", []string{"2:21: the file is not UTF-8 here"}},
		"two documents":   {begin + "---\na: 1\n", []string{"2:1: a second document begins here"}},

		"no format":              {"intent: {title: T}\n", []string{"1:1: the file does not say its format"}},
		"another version":        {"version: '2.0'\n", []string{`1:10: version must be "1.0", not the text "2.0".`}},
		"a version of two parts": {"openintent: {a: 1}\ninfo: {name: N}\n", []string{`1:13: openintent must be "1.0", not a mapping.`}},
		"no info":                {"openintent: '1.0'\n", []string{"1:1: info is missing"}},
		"no name":                {"openintent: '1.0'\ninfo: {version: 1}\n", []string{"2:1: info.name is missing"}},
		"info as a list":         {"openintent: '1.0'\ninfo: [a]\n", []string{"2:7: info must be a mapping, not a list."}},
		"phases as a list":       {"openintent: '1.0'\ninfo: {name: N}\nworkflow: [a]\n", []string{"3:11: workflow must be a mapping, not a list."}},
		"a name that is none":    {"openintent: '1.0'\ninfo: {name: 7}\n", []string{"2:14: info.name must be text, not the number 7; put it in quotes."}},
		"intent as text":         {begin + "intent: T\n", []string{`2:9: intent must be a mapping, not the text "T".`}},
		"an empty title":         {begin + "intent: {title: ''}\n", []string{"2:17: intent.title is empty"}},
		"no title":               {begin + "intent: {title: }\n", []string{"2:17: intent.title must be text, not nothing."}},
		"a long title":           {begin + "intent: {title: " + strings.Repeat("é", 1025) + "}\n", []string{"2:17: intent.title has 1025 characters; it has 1024 at most."}},
		"U+0000 in a title":      {begin + "intent: {title: \"a\\0\"}\n", []string{"2:17: intent.title holds U+0000"}},

		"channels as a list":  {begin + "channels: [a]\n", []string{"2:11: channels must be a mapping, not a list."}},
		"a channel as a list": {begin + "channels: {a: [b]}\n", []string{`2:15: channel "a" must be a mapping, not a list.`}},
		"a number for a name": {begin + "channels:\n  12: {}\n", []string{"3:3: a key here must be text, not the number 12; put it in quotes."}},
		"a list for a name":   {begin + "channels:\n  ? [a]\n  : {}\n", []string{"3:5: a key here must be text, not a list"}},
		"a slash":             {begin + "channels: {a/b: {}}\n", []string{`2:12: the channel's name "a/b" holds a "/"`}},
		"a control character": {begin + "channels: {\"a\\tb\": {}}\n", []string{`2:12: the channel's name "a\tb" holds a control character`}},
		"a blank name":        {begin + "channels: {' ': {}}\n", []string{`2:12: the channel's name " " is blank`}},
		"a long name": {
			begin + "channels:\n  " + strings.Repeat("é", 129) + ": {}\n",
			[]string{`3:3: the channel's name "` + strings.Repeat("é", 60) + `..." has 129 characters; it has 128 at most.`},
		},
		"the same channel twice": {begin + "channels:\n  a: {}\n  b: {}\n  a: {}\n", []string{`5:3: "a" appears here a second time, after line 3; keep one.`}},
		"the same block twice":   {begin + "channels: {}\nchannels: {}\n", []string{`3:1: "channels" appears here a second time, after line 2`}},
		"an unknown key":         {begin + "channels:\n  a:\n    options: {audit: true}\n", []string{`4:5: "options" is unknown; a channel has members,`}},
		"an unknown empty key":   {begin + "channels:\n  a:\n    topic:\n", []string{`4:5: "topic" is unknown`}},
		"too many channels": {
			begin + "channels:\n" + numbered("  c%: {}\n", 1001), []string{"2:1: the file has 1001 channels; it may have 1000 at most."},
		},

		"an unknown policy":   {begin + "channels: {a: {member_policy: closed}}\n", []string{"2:31: member_policy must be explicit (only the members) or intent"}},
		"an unknown history":  {begin + "channels: {a: {history: sometimes}}\n", []string{"2:25: history must be all or from_join"}},
		"yes for true":        {begin + "channels: {a: {audit: yes}}\n", []string{`2:23: audit must be true or false, not the text "yes".`}},
		"a time to live of 0": {begin + "channels: {a: {ttl_seconds: 0}}\n", []string{"2:29: ttl_seconds is 0; it lies between 1 and 3153600000."}},
		"a negative one":      {begin + "channels: {a: {ttl_seconds: -5}}\n", []string{"2:29: ttl_seconds is -5; it lies between"}},
		"an endless one":      {begin + "channels: {a: {ttl_seconds: 99999999999999999999}}\n", []string{"2:29: ttl_seconds must be a whole number, not the number 99999999999999999999."}},
		"half a second":       {begin + "channels: {a: {ttl_seconds: 0.5}}\n", []string{"2:29: ttl_seconds must be a whole number, not the number 0.5."}},
		"a number as text":    {begin + "channels: {a: {max_messages: '5'}}\n", []string{`2:30: max_messages must be a whole number, not the text "5".`}},
		"a budget as text":    {begin + "channels: {a: {turn_budget: many}}\n", []string{`2:29: turn_budget must be a whole number, not the text "many".`}},
		"a budget of one":     {begin + "channels: {a: {turn_budget: 1}}\n", []string{"2:29: turn_budget is 1; it is 0, for no brake, or lies between 2 and 100."}},
		"a crowd of one":      {begin + "channels: {a: {conversation_budget: 1}}\n", []string{"2:37: conversation_budget is 1; it is 0, for no brake, or lies between 2 and 1000."}},
		"a large crowd":       {begin + "channels: {a: {conversation_budget: 1001}}\n", []string{"2:37: conversation_budget is 1001; it is 0, for no brake, or lies between 2 and 1000."}},
		"a large budget":      {begin + "channels: {a: {turn_budget: 101}}\n", []string{"2:29: turn_budget is 101; it is 0, for no brake, or lies between 2 and 100."}},
		"too many messages":   {begin + "channels: {a: {max_messages: 1000000001}}\n", []string{"2:30: max_messages is 1000000001; it lies between 1 and 1000000000."}},
		"a task as a number":  {begin + "channels: {a: {task_id: 5}}\n", []string{"2:25: task_id must be text, not the number 5; put it in quotes."}},

		"members as text":   {begin + "channels: {a: {members: b}}\n", []string{`2:25: members must be a list, not the text "b".`}},
		"a member's number": {begin + "channels: {a: {members: [b, 7]}}\n", []string{"2:29: a member must be text, not the number 7; put it in quotes."}},
		"a member's date":   {begin + "channels: {a: {members: [2026-01-01]}}\n", []string{"2:26: a member must be text, not the date 2026-01-01; put it in quotes."}},
		"a member twice":    {begin + "channels:\n  a:\n    members:\n      - b\n      - b\n", []string{`6:9: the member "b" appears here a second time, after line 5; keep one.`}},
		"a reserved member": {begin + "channels: {a: {members: ['role:x']}}\n", []string{`2:26: the member "role:x" is not possible: this name is reserved`}},
		"a member's slash":  {begin + "channels: {a: {members: [b/c]}}\n", []string{`2:26: the member "b/c" is not possible: an agent's id is UTF-8 text without "/"`}},
		"a long member":     {begin + "channels: {a: {members: [" + long + "]}}\n", []string{`..." is not possible: an agent's id has 1 to 256 characters.`}},
		"too many members":  {begin + "channels:\n  a:\n    members:\n" + numbered("      - m%\n", 10_001), []string{"4:5: members lists 10001 agents; a channel lists 10000 at most."}},

		"agents as a list":         {begin + "agents: [a]\n", []string{"2:9: agents must be a mapping, not a list."}},
		"on_message as a mapping":  {begin + "agents: {a: {on_message: {handler: h}}}\n", []string{"2:26: on_message must be a list, not a mapping."}},
		"a handler's name alone":   {begin + "agents: {a: {on_message: [h]}}\n", []string{`2:27: on_message lists mappings with channel and handler, not the text "h".`}},
		"no handler":               {begin + "channels: {c: {}}\nagents: {a: {on_message: [{channel: c}]}}\n", []string{"3:27: handler is missing"}},
		"an unknown key of it":     {begin + "agents: {a: {on_message: [{handler: h, when: x}]}}\n", []string{`2:40: "when" is unknown; on_message has channel and handler.`}},
		"a channel that is absent": {begin + "agents: {a: {on_message: [{handler: h, channel: c}]}}\n", []string{`2:49: there is no channel "c" in this file`}},
		"a handler of operator":    {begin + "agents: {operator: {on_message: [{handler: h}]}}\n", []string{`2:10: the agent "operator" is not possible: this name is reserved`}},

		"a merge of a text":   {begin + "channels: {a: {<<: b}}\n", []string{`2:20: << merges mappings, not the text "b".`}},
		"a merge of itself":   {begin + "channels:\n  a: &a {<<: *a}\n", []string{"3:6: this mapping contains itself"}},
		"a list with itself":  {begin + "channels: {a: {members: &m [b, *m]}}\n", []string{"2:25: a member must be text, not a list."}},
		"a mistake in a part": {begin + "x: &x {audit: 1}\nchannels: {a: *x, b: {<<: *x}}\n", []string{"2:15: audit must be true or false, not the number 1."}},

		"several, in the order of their places": {
			"version: '3'\nagents:\n  a: {on_message: [{channel: gone}]}\nchannels:\n  /: {audit: 1, ttl_seconds: -1}\n",
			[]string{
				`1:10: version must be "1.0"`, "3:20: handler is missing", `3:30: there is no channel "gone"`, `5:3: the channel's name "/" holds`,
				"5:14: audit must be", "5:30: ttl_seconds is -1",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("w.yaml", []byte(c.text))
			var problems Problems
			require.ErrorAs(t, err, &problems)
			require.Len(t, problems, len(c.want), err.Error())
			for i, want := range c.want {
				if !strings.HasPrefix(want, "...") {
					require.True(t, strings.HasPrefix(problems[i].Error(), "w.yaml:"+want), "%s\ninstead of\n%s", problems[i], want)
				}
				require.Contains(t, problems[i].Error(), want)
			}
		})
	}
}

// numbered repeats a text with the numbers from 0 in place of %.
func numbered(text string, count int) string {
	var all strings.Builder
	for i := range count {
		all.WriteString(strings.ReplaceAll(text, "%", strconv.Itoa(i)))
	}
	return all.String()
}

func TestParseTakesWhatLiesOnTheBounds(t *testing.T) {
	name := strings.Repeat("é", maxChannelName)
	for _, c := range []struct {
		key   string
		value int64
	}{
		{"ttl_seconds", 1}, {"ttl_seconds", maxTTLSeconds}, {"max_messages", 1}, {"max_messages", maxMaxMessages},
		{"turn_budget", 0}, {"turn_budget", leastBudget}, {"turn_budget", mostBudget},
		{"conversation_budget", 0}, {"conversation_budget", leastBudget}, {"conversation_budget", mostCrowdBudget},
	} {
		file, err := Parse("w.yaml", []byte(fmt.Sprintf("%schannels: {%s: {%s: %d}}\n", begin, name, c.key, c.value)))
		require.NoError(t, err, "%+v", c)
		require.Equal(t, name, file.Channels[0].Name)
	}
	full := []byte(begin + "#")
	full = append(full, strings.Repeat("x", maxFileBytes-len(full))...)
	_, err := Parse("w.yaml", full)
	require.NoError(t, err)
}

func TestParseFindsWhereAFileStopsBeingYAML(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a tab":                    {begin + "channels:\n\ta: {}\nb: 1\n", "3:1: this is not YAML (found character that cannot start any token)"},
		"indentation":              {begin + "channels:\n  a: {}\n b: {}\n  c: {}\nd: 1\n", "4:2: this is not YAML (did not find expected key)"},
		"two colons":               {begin + "channels:\n  a: b: c\nd: 1\n", "3:7: this is not YAML (mapping values are not allowed in this context)"},
		"a list among keys":        {begin + "channels: {}\n- a\nb: 1\n", "3:1: this is not YAML (did not find expected key)"},
		"an open bracket":          {begin + "channels:\n  a: {members: [b, c}\nb: 1\nc: 2\n", "3:17: this is not YAML (did not find expected ',' or ']')"},
		"an open quote":            {begin + "intent: {title: \"T}\nb: 1\n\nc: 2\n", "2:17: this is not YAML (found unexpected end of stream)"},
		"text behind a quote":      {begin + "intent:\n  title: 'é' T\nb: 1\n", "3:14: this is not YAML (did not find expected key)"},
		"a key without a colon":    {begin + "channels\nb: 1\nc: 2\n", "2:1: this is not YAML (could not find expected ':')"},
		"an unknown anchor":        {begin + "channels: {a: *defaults, b: {}}\nc: 1\n", "2:23: this is not YAML (unknown anchor 'defaults' referenced)"},
		"a reserved character":     {begin + "channels:\n  a: @b\nb: 1\n", "3:6: this is not YAML (found character that cannot start any token)"},
		"a control character":      {begin + "channels:\r\n  é: \x01\nb: 1\n", "3:6: this is not YAML (control characters are not allowed)"},
		"something behind an end":  {begin + "...\n}\n", "3:1: this is not YAML (did not find expected <document start>)"},
		"behind a byte order mark": {"\ufeff{version: '1.0'", "1:2: this is not YAML (did not find expected ',' or '}')"},
		"in the only line":         {"{version: '1.0'", "1:2: this is not YAML (did not find expected ',' or '}')"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("w.yaml", []byte(c.text))
			var problems Problems
			require.ErrorAs(t, err, &problems)
			require.Len(t, problems, 1)
			require.Contains(t, err.Error(), "w.yaml:"+c.want)
		})
	}
}

func TestParseNamesAHundredMistakesAndCountsTheRest(t *testing.T) {
	var hundred Problems
	_, few := Parse("w.yaml", []byte(begin+"channels:\n"+numbered("  c%: {audit: 1}\n", maxProblems)))
	require.ErrorAs(t, few, &hundred)
	require.Len(t, hundred, maxProblems)
	require.Contains(t, hundred[maxProblems-1].Text, "audit must be", "the last one is named, too")

	_, err := Parse("w.yaml", []byte(begin+"channels:\n"+numbered("  c%: {audit: 1}\n", 150)))
	var problems Problems
	require.ErrorAs(t, err, &problems)
	require.Len(t, problems, 101)
	require.Equal(t, "w.yaml:103:17: there are 50 more problems from here on.", strings.Split(err.Error(), "\n")[100])
}

// FuzzParse checks that every file is read, or refused with places within the file.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"rfc-0021.yaml", "phases.yaml"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(f, err)
		f.Add(text)
	}
	for _, text := range []string{
		"", "a: &a [*a]", "<<: &a {<<: *a}", "version: '1.0'\nchannels: {a: {members: [x, x], audit: 7}, a: 1}",
		"version: 1.0\r\nchannels:\r  a: \u2028b: @c", "\ufeff{", "openintent: [\n---\n...", "? ? ?\n: !!binary \xff", "version: \"1.0\u0085x\"",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Parse("w.yaml", text)
		if err == nil {
			for _, channel := range file.Channels {
				require.Empty(t, wrongChannelName(channel.Name))
				requireWithin(t, text, channel.At)
			}
			return
		}
		var problems Problems
		require.ErrorAs(t, err, &problems)
		require.NotEmpty(t, problems)
		for _, problem := range problems {
			requireWithin(t, text, problem.Position)
		}
	})
}

func requireWithin(t *testing.T, text []byte, at Position) {
	t.Helper()
	ends := lineEnds(text)
	require.True(t, at.Line >= 1 && at.Line <= len(ends)+1, "line %d of %d", at.Line, len(ends))
	if at.Line > len(ends) {
		require.Equal(t, 1, at.Column)
		return
	}
	begin := 0
	if at.Line > 1 {
		begin = ends[at.Line-2]
	}
	require.True(t, at.Column >= 1 && at.Column <= len([]rune(string(text[begin:ends[at.Line-1]])))+1, "column %d of line %d", at.Column, at.Line)
}
