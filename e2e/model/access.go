package model

import "time"

// Level is an agent's access to an intent; each level includes those below it.
type Level int

// These are the levels.
const (
	None Level = iota
	Read
	Write
	Admin
)

// Entry grants one agent a level, until it expires.
type Entry struct {
	Agent     string
	Level     Level
	ExpiresAt time.Time // zero: for ever
}

// Intent is what agents work on; it determines their access.
type Intent struct {
	ID, Creator string
	Version     int64
	// Status is draft, active, blocked, suspended_awaiting_input, completed or abandoned.
	Status string
	// Policy is what agents without an entry may do: "" without a list (write), open (read), closed (nothing).
	Policy   string
	Entries  []Entry
	Assigned map[string]bool
	// Coordinator coordinates until it has been silent for too long.
	Coordinator      string
	CoordinatorUntil time.Time
	Tasks            map[string]bool // true once ended
	// Log holds, in order, the copies of audited channels' messages.
	Log []*Message
}

// Ended reports whether the intent has reached a terminal status.
func (i *Intent) Ended() bool { return i.Status == "completed" || i.Status == "abandoned" }

// Level returns an agent's access: the access that somebody gave it, or the access that everyone has.
func (w *World) Level(i *Intent, agent string) Level {
	level := w.given(i, agent)
	switch i.Policy {
	case "":
		return max(level, Write)
	case "open":
		return max(level, Read)
	}
	return level
}

// given returns the access that somebody gave the agent. While there is no list, an assignment gives more.
func (w *World) given(i *Intent, agent string) Level {
	if agent == Operator || agent == i.Creator || w.coordinates(i, agent) {
		return Admin
	}
	level := None
	switch {
	case i.Assigned[agent] && i.Policy == "":
		level = Admin
	case i.Assigned[agent]:
		level = Write
	}
	for _, entry := range i.Entries {
		if entry.Agent == agent && !w.past(entry.ExpiresAt) {
			level = max(level, entry.Level)
		}
	}
	return level
}

func (w *World) coordinates(i *Intent, agent string) bool {
	return agent == i.Coordinator && w.Now.Before(i.CoordinatorUntil)
}

// need refuses an agent below a level.
func (w *World) need(i *Intent, agent string, level Level) Outcome {
	if w.Level(i, agent) < level {
		return "FORBIDDEN"
	}
	return OK
}

var nextStatuses = map[string][]string{
	"draft":                    {"active", "abandoned"}, // and blocked, if it depended on another intent
	"active":                   {"blocked", "completed", "abandoned", "suspended_awaiting_input"},
	"blocked":                  {"active", "abandoned"},
	"suspended_awaiting_input": {"active", "abandoned"},
}

// SetStatus changes an intent's status. Its end closes all its channels. A suspension stops their time to live, which
// starts afresh on resuming.
func (w *World) SetStatus(caller string, i *Intent, version int64, next string) Outcome {
	if refused := w.need(i, caller, Admin); refused != OK {
		return refused
	}
	if version != i.Version {
		return "VERSION_MISMATCH"
	}
	legal := false
	for _, status := range nextStatuses[i.Status] {
		legal = legal || status == next
	}
	if !legal {
		return "INVALID_TRANSITION"
	}
	resumed := i.Status == "suspended_awaiting_input"
	i.Status = next
	i.Version++
	for _, c := range w.Channels {
		switch {
		case c.Intent != i || !c.Open():
		case i.Ended():
			c.close(w.Now)
		case resumed:
			c.runsFrom = w.Now
		}
	}
	w.lapse()
	return OK
}

// Resumed corrects the moment at which the channels' time to live started afresh, to the time that the server gave
// the change.
func (w *World) Resumed(i *Intent, guessed, at time.Time) {
	for _, c := range w.Channels {
		if c.Intent == i && c.runsFrom.Equal(guessed) {
			c.runsFrom = at
		}
	}
}

// SetAccess replaces an intent's access control list.
func (w *World) SetAccess(caller string, i *Intent, policy string, entries []Entry) Outcome {
	if refused := w.need(i, caller, Admin); refused != OK {
		return refused
	}
	for _, entry := range entries {
		if w.past(entry.ExpiresAt) {
			return "INVALID_FIELD"
		}
	}
	i.Policy, i.Entries = policy, entries
	return OK
}

// Grant adds an entry. If there was no list, it starts one with policy open.
func (w *World) Grant(caller string, i *Intent, entry Entry) Outcome {
	if refused := w.need(i, caller, Admin); refused != OK {
		return refused
	}
	if w.past(entry.ExpiresAt) {
		return "INVALID_FIELD"
	}
	if i.Policy == "" {
		i.Policy = "open"
	}
	i.Entries = append(i.Entries, entry)
	return OK
}

// Assign puts an agent to work on an intent, or takes it off again.
func (w *World) Assign(caller string, i *Intent, agent string, assigned bool) Outcome {
	switch {
	case w.need(i, caller, Admin) != OK:
		return "FORBIDDEN"
	case i.Ended():
		return "INTENT_ENDED"
	case !assigned && !i.Assigned[agent]:
		return "ASSIGNMENT_NOT_FOUND"
	}
	i.Assigned[agent] = assigned
	return OK
}

// Coordinate makes an agent the intent's coordinator. There is one at a time; a silent one is replaced.
func (w *World) Coordinate(caller string, i *Intent, agent string, silentAfter time.Duration) Outcome {
	switch {
	case w.need(i, caller, Admin) != OK:
		return "FORBIDDEN"
	case i.Ended():
		return "INTENT_ENDED"
	case i.Coordinator != "" && w.Now.Before(i.CoordinatorUntil):
		return "COORDINATOR_EXISTS"
	}
	i.Coordinator, i.CoordinatorUntil = agent, w.Now.Add(silentAfter)
	return OK
}

// EndCoordination removes the coordinator. The coordinator itself may call it, and everyone who may appoint one.
func (w *World) EndCoordination(caller string, i *Intent) Outcome {
	switch {
	case w.need(i, caller, Read) != OK:
		return "FORBIDDEN"
	case i.Coordinator == "":
		return "COORDINATOR_NOT_FOUND"
	case caller != i.Coordinator && w.need(i, caller, Admin) != OK:
		return "FORBIDDEN"
	}
	i.Coordinator, i.CoordinatorUntil = "", time.Time{}
	return OK
}

// EndTask cancels a task, which closes its channels (RFC-0021 section 7.3). The operator does this.
func (w *World) EndTask(i *Intent, task string) Outcome {
	if i.Tasks[task] {
		return "INVALID_TRANSITION"
	}
	i.Tasks[task] = true
	for _, c := range w.Channels {
		if c.Intent == i && c.Task == task && c.Open() {
			c.close(w.Now)
		}
	}
	return OK
}
