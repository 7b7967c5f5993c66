package harnesses

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// speaker talks to the model in one maker's protocol, as a harness of that maker does.
type speaker struct {
	path string
	// prefix stands before the names of the door's tools.
	prefix string
	// request is what a harness sends after a prompt and some steps.
	request func(prompt string, tools []string, steps []Step) object
	// called finds the call in an event of the answer, and said what the model says.
	called, said string
}

var speakers = map[string]speaker{
	"chat": {
		path: "/v1/chat/completions", prefix: "openintent_", called: "choices.0.delta.tool_calls.0.function.name", said: "choices.0.delta.content",
		request: func(prompt string, tools []string, steps []Step) object {
			messages := []object{{"role": "system", "content": "You help."}, {"role": "user", "content": []object{{"type": "text", "text": prompt}}}}
			for i, s := range steps {
				id := string(rune('a' + i))
				messages = append(messages,
					object{"role": "assistant", "tool_calls": []object{{"id": id, "function": object{"name": s.Tool}}}},
					object{"role": "tool", "tool_call_id": id, "content": s.Result})
			}
			return object{"stream": true, "messages": messages, "tools": each(tools, func(name string) object {
				return object{"type": "function", "function": object{"name": name}}
			})}
		},
	},
	"responses": {
		path: "/v1/responses", prefix: "mcp__openintent/", called: "item.name", said: "item.content.0.text",
		request: func(prompt string, tools []string, steps []Step) object {
			input := []object{{"type": "message", "role": "user", "content": []object{{"type": "input_text", "text": prompt}}}}
			for i, s := range steps {
				id := string(rune('a' + i))
				namespace, name, _ := cutLast(s.Tool, inNamespace)
				input = append(input,
					object{"type": "function_call", "call_id": id, "namespace": namespace, "name": name},
					object{"type": "function_call_output", "call_id": id, "output": []object{{"type": "input_text", "text": s.Result}}})
			}
			members := each(tools, func(name string) object {
				_, name, _ = cutLast(name, inNamespace)
				return object{"type": "function", "name": name}
			})
			return object{"input": input, "tools": []object{{"type": "namespace", "name": "mcp__openintent", "tools": members}}}
		},
	},
	"gemini": {
		path: "/v1beta/models/any:streamGenerateContent", prefix: "mcp_openintent_",
		called: "candidates.0.content.parts.0.functionCall.name", said: "candidates.0.content.parts.0.text",
		request: func(prompt string, tools []string, steps []Step) object {
			contents := []object{{"role": "user", "parts": []object{{"text": prompt}}}}
			for _, s := range steps {
				contents = append(contents,
					object{"role": "model", "parts": []object{{"functionCall": object{"name": s.Tool}}}},
					object{"role": "user", "parts": []object{{"functionResponse": object{"response": object{"output": s.Result}}}}})
			}
			return object{"contents": contents, "tools": []object{{"functionDeclarations": each(tools, func(name string) object {
				return object{"name": name}
			})}}}
		},
	},
}

// The model plays the same story in each protocol: it waits again after a failure, answers, and speaks at the end.
func TestTheModelFollowsItsScript(t *testing.T) {
	asked := `{"messages":[{"id":"msg_01","text":"` + question + `"}]}`
	for name, s := range speakers {
		t.Run(name, func(t *testing.T) {
			model := NewModel(t, map[string]Play{promptAnswer: Answers(1), promptAsk: Asks("data-agent"), promptInbox: ReadsInbox})
			for _, told := range []struct {
				prompt  string
				results []Step
				said    string
			}{
				{promptAnswer, []Step{{"join", `{"channel":"chan_01"}`}, {"wait", "lost"}, {"wait", asked}, {"reply", `{"id":"msg_02"}`}}, "I have answered 1 questions."},
				{promptAsk, []Step{{"join", `{"channel":"chan_01"}`}, {"ask", answer}}, "The answer is: " + answer},
				{promptInbox, []Step{{"inbox", asked}, {"reply", `{"id":"msg_02"}`}}, "I have answered."},
				{promptAnswer, []Step{{"join", "refused"}}, "I give up: join gave "},
				{"What time is it?", nil, "I have nothing to do."},
			} {
				var steps []Step
				for _, next := range told.results {
					called, _ := s.talk(t, model, told.prompt, steps)
					require.Equal(t, next.Tool, doorsName("openintent_"+called[strings.LastIndexAny(called, "_/")+1:]))
					steps = append(steps, Step{s.prefix + next.Tool, next.Result})
				}
				called, said := s.talk(t, model, told.prompt, steps)
				assert.Empty(t, called)
				assert.Contains(t, said, told.said)
			}
			ended := make(chan struct{})
			close(ended)
			_, found := model.Await(ended, has("wait", question))
			assert.True(t, found)
		})
	}
}

// Some harnesses only name their tools. Then the model looks a tool up, and calls it through another tool.
func TestTheModelCallsWhatIsHidden(t *testing.T) {
	conversation := conversation{
		items:   []item{{user: `"mcp__openintent__join": "Take part"`}, {user: promptAnswer}},
		offered: []string{lookUp, callThrough},
	}
	conversation.deferred()
	wanted := move{tool: "join", arguments: object{"channel": channelName}}
	assert.Equal(t, move{tool: lookUp, arguments: object{"query": "select:mcp__openintent__join"}}, conversation.call(wanted))
	conversation.items = append(conversation.items, item{tool: lookUp, arguments: `{"query":"select:mcp__openintent__join"}`})
	called := conversation.call(wanted)
	assert.Equal(t, move{tool: callThrough, arguments: object{"name": "mcp__openintent__join", "arguments": wanted.arguments}}, called)
	assert.Equal(t, "mcp__openintent__join", calledThrough(called.tool, encode(called.arguments)))
}

// A harness that was refused by the server offers none of its tools, and the model says so.
func TestTheModelSaysThatItHasNoTools(t *testing.T) {
	for _, s := range speakers {
		model := NewModel(t, map[string]Play{promptAnswer: Answers(1)})
		s.prefix = "other_"
		_, said := s.talk(t, model, promptAnswer, nil)
		if s.path != "/v1/responses" { // there, the namespace has the server's name
			assert.Equal(t, "I have no tool join of openintent.", said)
		}
	}
}

// talk makes one request, and returns the tool that the model calls, or what it says.
func (s speaker) talk(t *testing.T, m *Model, prompt string, steps []Step) (called, said string) {
	t.Helper()
	tools := each([]string{"join", "wait", "reply", "ask", "inbox"}, func(name string) string { return s.prefix + name })
	response, err := http.Post(m.URL+s.path, "application/json", strings.NewReader(encode(s.request(prompt, tools, steps))))
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, "%s", body)
	for line := range bytes.Lines(body) {
		data, isData := bytes.CutPrefix(line, []byte("data: "))
		var event any
		if !isData || json.Unmarshal(data, &event) != nil {
			continue
		}
		if name, _ := at(event, s.called).(string); name != "" {
			called = name
		}
		if text, _ := at(event, s.said).(string); text != "" {
			said = text
		}
	}
	return called, said
}

// at returns what stands at a path in a value of JSON.
func at(value any, path string) any {
	for _, name := range strings.Split(path, ".") {
		switch members := value.(type) {
		case object:
			value = members[name]
		case []any:
			value = nil
			if name == "0" && len(members) > 0 {
				value = members[0]
			}
		}
	}
	return value
}

func each[A, B any](all []A, made func(A) B) (list []B) {
	for _, one := range all {
		list = append(list, made(one))
	}
	return list
}

// has fits a turn in which the model has a text from a tool.
func has(tool, text string) func(Turn) bool {
	return func(turn Turn) bool {
		last := lastOf(turn.Steps)
		return last.Tool == tool && strings.Contains(last.Result, text)
	}
}
