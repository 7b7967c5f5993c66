package harnesses

import (
	"fmt"
	"regexp"
	"strings"
)

// Step is a call of a tool that the model asked for, with what the harness gave it back.
type Step struct {
	// Tool is the tool's name at the door, such as join.
	Tool string
	// Result is the result as the harness passes it on, or nothing as long as there is none.
	Result string
}

// move is what the model does next: it calls a tool, or it says something, which ends its turn.
type move struct {
	tool      string
	arguments map[string]any
	say       string
}

// Play decides what the model does next, by the steps since its user spoke.
type Play func(steps []Step) move

// The places of the story, and what the agents say.
const (
	intentTitle = "Research Q1 financials"
	channelName = "data-clarification"
	question    = "What schema version does Q1 use?"
	answer      = "Q1 uses schema version 2.3."
)

// The sentences that a harness's user says. The page has the first one, and the command that wakes a harness the last one.
const (
	promptAnswer = "join the channel data-clarification and wait for questions"
	promptAsk    = "join the channel data-clarification of the intent Research Q1 financials, and ask data-agent for the schema version"
	promptInbox  = "Read your inbox on openintent."
)

// mostSteps bounds a turn, in case a tool never gives what its play looks for.
const mostSteps = 200

// Answers joins the channel, and waits until it has answered so many questions.
func Answers(questions int) Play {
	return func(steps []Step) move {
		answered := 0
		for _, s := range steps {
			if s.Tool == "reply" && isMessage.MatchString(s.Result) {
				answered++
			}
		}
		switch last := lastOf(steps); {
		case last.Tool == "":
			return move{tool: "join", arguments: map[string]any{"channel": channelName}}
		case last.Tool == "join" && !isChannel.MatchString(last.Result), last.Tool == "reply" && !isMessage.MatchString(last.Result):
			return failed(last)
		case answered == questions:
			return move{say: fmt.Sprintf("I have answered %d questions.", answered)}
		case last.Tool == "wait" && isMessage.MatchString(last.Result):
			return replying(last)
		default:
			return move{tool: "wait", arguments: map[string]any{"for": "inbox"}}
		}
	}
}

// Asks joins the channel, asks an agent there, and says what it answered.
func Asks(agent string) Play {
	return func(steps []Step) move {
		switch last := lastOf(steps); {
		case last.Tool == "":
			return move{tool: "join", arguments: map[string]any{"channel": channelName, "intent": intentTitle}}
		case last.Tool == "join" && isChannel.MatchString(last.Result):
			channel := isChannel.FindStringSubmatch(last.Result)[1]
			return move{tool: "ask", arguments: map[string]any{"channel": channel, "to": agent, "text": question}}
		case last.Tool == "ask" && strings.Contains(last.Result, answer):
			return move{say: "The answer is: " + answer}
		default:
			return failed(last)
		}
	}
}

// ReadsInbox answers what waits in the inbox.
func ReadsInbox(steps []Step) move {
	switch last := lastOf(steps); {
	case last.Tool == "":
		return move{tool: "inbox", arguments: map[string]any{}}
	case last.Tool == "inbox" && isMessage.MatchString(last.Result):
		return replying(last)
	case last.Tool == "reply" && isMessage.MatchString(last.Result):
		return move{say: "I have answered."}
	default:
		return failed(last)
	}
}

// lastOf returns the last step, or none.
func lastOf(steps []Step) Step {
	if len(steps) == 0 {
		return Step{}
	}
	return steps[len(steps)-1]
}

func replying(to Step) move {
	return move{tool: "reply", arguments: map[string]any{"message": isMessage.FindStringSubmatch(to.Result)[1], "text": answer}}
}

func failed(last Step) move {
	return move{say: fmt.Sprintf("I give up: %s gave %s", last.Tool, last.Result)}
}

// Results reach the model as JSON, often within further JSON, so the marks may be escaped.
var (
	isMessage = regexp.MustCompile(`"id\\*":\s*\\*"(msg_\w+)`)
	isChannel = regexp.MustCompile(`"channel\\*":\s*\\*"(chan_\w+)`)
)

// item is a part of a conversation: something that the user said, or a call, or its result.
type item struct {
	user string
	call string // the id of a call
	tool string // as the harness names it; empty for a result
	// arguments of a call, where the protocol has them as a text.
	arguments string
	result    string
}

// conversation is what a request asks the model to go on with.
type conversation struct {
	items   []item
	offered []string // the names of the tools
	hidden  []string // tools that the harness only names
}

// call makes a call of one of the door's tools into one of what the harness offers: harnesses put the server's name before the tool's,
// each in its own way.
func (c conversation) call(next move) move {
	for _, offered := range c.offered {
		if doorsName(offered) == next.tool {
			next.tool = offered
			return next
		}
	}
	for _, hidden := range c.hidden {
		if doorsName(hidden) == next.tool {
			return c.through(hidden, next.arguments)
		}
	}
	return move{say: fmt.Sprintf("I have no tool %s of openintent.", next.tool)}
}

// doorsName returns the name at the door of a tool that a harness offers, or nothing if it is another server's, or the harness's own.
func doorsName(offered string) string {
	_, name, found := strings.Cut(offered, "openintent")
	if !found {
		return ""
	}
	return strings.TrimLeft(name, "_-./")
}

// turn returns the last known thing that the user said, and the steps since then. Harnesses say further things in the user's name, such
// as the time of day.
func (c conversation) turn(known func(said string) bool) (prompt string, steps []Step) {
	calls := make(map[string]int) // of steps, by the calls' ids
	for _, i := range c.items {
		switch {
		case i.user != "":
			if known(i.user) {
				prompt, steps = i.user, nil
				clear(calls)
			}
		case i.tool != "":
			if name := doorsName(i.tool); name != "" {
				calls[i.call] = len(steps)
				steps = append(steps, Step{Tool: name})
			}
		default:
			if at, ours := calls[i.call]; ours {
				steps[at].Result = i.result
			}
		}
	}
	return prompt, steps
}
