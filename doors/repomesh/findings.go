package repomesh

import (
	"context"
	"slices"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

// A task keeps the findings of whoever has it. The findings of others are messages for the task: nobody but who has a task changes it. A
// reader finds both in one list.

const (
	// finding is the type of a finding.
	finding = "review.finding"
	// mostByAuthor is how many findings of one other author a task shows: its newest, of the messages at which a list looks.
	mostByAuthor = 50
	// mostFindings is how many findings a task keeps, and findingRoom how many bytes of each text of one are shown.
	mostFindings = 200
	findingRoom  = 1_000
	// findingsMember is where a task keeps its findings.
	findingsMember = "findings"
)

// errManyFindings refuses to add to a long list. The findings themselves are messages, and stay.
var errManyFindings = fault.New(fault.Quota, "TOO_MANY_FINDINGS",
	"The task keeps %d findings and takes no more; this one is a message alone.", mostFindings)

// noteOthers is what an agent hears whose finding its task does not keep.
const noteOthers = "Who has the task changes it. Your finding is a message that is read with the task, among your newest 50 for it."

// findingsOf returns the findings that a task keeps.
func findingsOf(t *openintentv1.Task) []any {
	found, _ := t.GetOutput().AsMap()[findingsMember].([]any)
	return found
}

// findingIn returns what a task shows of a finding.
func findingIn(id, author string, said map[string]any) map[string]any {
	shown := map[string]any{"message_id": id, "reviewer_id": author}
	for _, m := range registry[finding] {
		switch value := said[m.name].(type) {
		case string:
			shown[m.name] = doors.Beginning(value, findingRoom)
		case float64:
			shown[m.name] = value
		}
	}
	return shown
}

// keep appends a finding to its task, if the caller has the task.
func (s *session) keep(d *draft, sent *openintentv1.Message, made *effect) func(*openintentv1.Task) (change, error) {
	return func(t *openintentv1.Task) (change, error) {
		if !s.has(t) {
			made.Note = noteOthers
			return change{nothing: true}, nil
		}
		findings := findingsOf(t)
		for _, earlier := range findings {
			if kept, isObject := earlier.(map[string]any); isObject && kept["message_id"] == sent.GetId() {
				return change{nothing: true}, nil
			}
		}
		if len(findings) >= mostFindings {
			return change{}, errManyFindings
		}
		return change{add: map[string]any{
			findingsMember: append(findings, findingIn(sent.GetId(), sent.GetSender(), d.values)),
		}}, nil
	}
}

// findings returns a task's findings: those that it keeps, and after them those that others have logged for it and that the caller may see.
func (s *session) findings(ctx context.Context, t *openintentv1.Task) ([]any, error) {
	own := findingsOf(t)
	known := make(map[any]bool, len(own))
	for _, kept := range own {
		if said, isObject := kept.(map[string]any); isObject {
			known[said["message_id"]] = true
		}
	}
	wanted := &gathering{filter: filter{name: finding, task: t.GetId()}, span: span{limit: largestPage}, room: restPage}
	whole := *s
	whole.room = wholePayloads
	logged, err := whole.gather(ctx, wanted, "")
	if err != nil {
		return nil, err
	}
	var others []any
	by := make(map[string]int)
	for _, e := range logged.Items { // the newest first
		if e.AgentID == nil || known[e.ID] || by[*e.AgentID] == mostByAuthor {
			continue
		}
		by[*e.AgentID]++
		others = append(others, findingIn(e.ID, *e.AgentID, e.Payload))
	}
	slices.Reverse(others)
	return append(slices.Clone(own), others...), nil
}

// whole returns a task in the protocol's form, with the findings of others.
func (s *session) whole(ctx context.Context, t *openintentv1.Task) (task, error) {
	found, err := s.findings(ctx, t)
	if err != nil {
		return task{}, err
	}
	return taskWith(t, found, max(s.room, wholeMessage)), nil
}
