package openintenttest

import (
	"fmt"
	"os"

	openintent "openintent/sdk/go"
	"openintent/sdk/go/story"
)

// Story is a conversation from the record, as `openintent export INTENT --story` writes it.
type Story = story.Story

// StoryChannel is a channel of a story.
type StoryChannel = story.Channel

// StoryAgent is an agent that took part, with its role.
type StoryAgent = story.Agent

// Line is a message of a story.
type Line = story.Line

// LoadStory reads a story from a file. The test ends if it is none.
func (s *Server) LoadStory(path string) *Story {
	s.tb.Helper()
	file, err := os.Open(path)
	if err != nil {
		s.tb.Fatal(err)
	}
	defer func() { _ = file.Close() }() // it was only read
	told, err := story.Read(file)
	if err != nil {
		s.tb.Fatalf("%s is no story: %v", path, err)
	}
	return told
}

// DifferenceKind says what is otherwise than in the record.
type DifferenceKind string

// The agent said something else, or something more; it did not say something; or a message woke it that did not wake it in the record, or
// the other way round.
const (
	DifferenceSaid    DifferenceKind = "said"
	DifferenceNotSaid DifferenceKind = "not_said"
	DifferenceWoken   DifferenceKind = "woken"
)

// Difference is one thing that is otherwise than in the record.
type Difference struct {
	Kind DifferenceKind
	Text string
	// Recorded is the line that it is about, and Said what the agent said; nil for none.
	Recorded *Line
	Said     *Said
}

func (d Difference) String() string { return string(d.Kind) + ": " + d.Text }

// Report is what came of a story. LeftOut are lines that could not be played, because they answer what was not said.
type Report struct {
	Differences []Difference
	LeftOut     []Line
}

// Play plays a story with an agent, which Play runs: the test says what all others said, in the record's order and after the record's times
// by the test's clock, and the agent does what it does. Payloads must be equal, unless matches, which may be nil, says what will do. While the
// agent is at work, the story waits for what it should say, at most 5 seconds at a time.
func (s *Server) Play(told *Story, agent *openintent.Agent, matches func(recorded, said map[string]any) bool) *Report {
	s.tb.Helper()
	if matches == nil {
		matches = func(recorded, said map[string]any) bool { return plain(recorded) == plain(said) }
	}
	p := &playing{
		server: s, story: told, id: agent.Client().AgentID(), matches: matches, report: &Report{}, channels: make(map[string]string),
		stand: make(map[string]*openintent.Message), seen: make(map[string]bool),
	}
	p.prepare()
	s.Run(agent)
	for _, line := range told.Lines {
		if line.Sender == p.id {
			p.expect(line)
		} else {
			p.say(line)
		}
	}
	p.untilCalm(nil)
	p.noteMore()
	p.noteWoken()
	return p.report
}

func where(line Line) string { return "to " + everyone(line.To) + " on " + line.Channel }

func everyone(to string) string {
	if to == "" || to == "*" {
		return "everyone"
	}
	return to
}

func (p *playing) differs(kind DifferenceKind, recorded *Line, said *Said, format string, arguments ...any) {
	p.report.Differences = append(p.report.Differences, Difference{kind, fmt.Sprintf(format, arguments...), recorded, said})
}
