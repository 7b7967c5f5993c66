package workflows

import (
	"fmt"
	"slices"
	"strings"

	openintentv1 "openintent/gen/openintent/v1"
)

// Action is what is done, or would be done, to an intent or a channel.
type Action string

const (
	// ActionCreate makes it.
	ActionCreate Action = "create"
	// ActionUpdate changes what differs.
	ActionUpdate Action = "update"
	// ActionNone leaves it as it is, because it is already as the file says.
	ActionNone Action = "none"
)

// The names of settings in files and answers.
const (
	settingPolicy      = "member_policy"
	settingAudit       = "audit"
	settingTTL         = "ttl_seconds"
	settingMaxMessages = "max_messages"
	settingHistory     = "history"
	settingTurnBudget  = "turn_budget"
	settingCrowdBudget = "conversation_budget"
	settingTask        = "task_id"
)

// Setting is one setting of a channel that changes. From is nil for a new channel. Otherwise a nil in From or To means that the
// channel does not have this setting.
type Setting struct {
	Name string `json:"name"`
	From any    `json:"from"`
	To   any    `json:"to"`
}

// Change is the difference between a channel of a file and the open channel of that name.
type Change struct {
	Action Action `json:"action"`
	Name   string `json:"name"`
	// ID is empty for a channel that does not exist yet.
	ID string `json:"id,omitempty"`
	// Settings are the settings that change; for a new channel, all that it has.
	Settings []Setting `json:"settings"`
	// Added and Removed are members: Added in the order of the file, Removed in the order of the channel.
	Added   []string `json:"members_added"`
	Removed []string `json:"members_removed"`

	wanted Channel
}

// Compare returns the changes, in the order of the file, that make the open channels what the file says. A difference that no
// change can remove is a problem.
func Compare(file *File, open []*openintentv1.Channel) (changes []Change, problems Problems) {
	byName := make(map[string]*openintentv1.Channel, len(open))
	for _, channel := range open {
		byName[channel.GetName()] = channel
	}
	for _, wanted := range file.Channels {
		existing := byName[wanted.Name]
		if existing != nil && existing.GetTaskId() != wanted.TaskID {
			problems = append(problems, Problem{File: file.Name, Position: wanted.At, Text: fmt.Sprintf(
				"the open channel %s belongs to %s, and in the file to %s, which cannot be changed; close that channel, or change the file.",
				quoted(wanted.Name), taskWords(existing.GetTaskId()), taskWords(wanted.TaskID))})
			continue
		}
		changes = append(changes, difference(wanted, existing))
	}
	return changes, problems
}

func taskWords(id string) string {
	if id == "" {
		return "no task"
	}
	return "task " + shortened(id)
}

// difference compares one channel; existing is nil if no open channel has the name.
func difference(wanted Channel, existing *openintentv1.Channel) Change {
	change := Change{
		Action: ActionNone, Name: wanted.Name, ID: existing.GetId(),
		Settings: []Setting{}, Added: []string{}, Removed: []string{}, wanted: wanted,
	}
	was := make(map[string]any)
	if existing != nil {
		was = settings(existing.GetMemberPolicy(), existing.GetOptions(), existing.GetTaskId())
	}
	becomes := settings(wanted.Policy, wanted.options(), wanted.TaskID)
	for _, name := range []string{settingPolicy, settingAudit, settingTTL, settingMaxMessages, settingHistory, settingTurnBudget, settingCrowdBudget,
		settingTask} {
		if was[name] != becomes[name] {
			change.Settings = append(change.Settings, Setting{name, was[name], becomes[name]})
		}
	}
	change.Added = missing(wanted.Members, existing.GetMembers())
	change.Removed = missing(existing.GetMembers(), wanted.Members)
	switch {
	case existing == nil:
		change.Action = ActionCreate
	case len(change.Settings)+len(change.Added)+len(change.Removed) > 0:
		change.Action = ActionUpdate
	}
	return change
}

// settings returns a channel's settings by their names; a setting that the channel does not have is nil.
func settings(policy openintentv1.MemberPolicy, options *openintentv1.ChannelOptions, task string) map[string]any {
	words := map[openintentv1.MemberPolicy]string{
		openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT: "explicit",
		openintentv1.MemberPolicy_MEMBER_POLICY_INTENT:   "intent",
	}
	values := map[string]any{
		settingPolicy: words[policy], settingAudit: options.GetAudit(), settingMaxMessages: options.GetMaxMessages(),
		settingHistory: "all", settingTurnBudget: int64(defaultBudget),
	}
	if options.TurnBudget != nil {
		values[settingTurnBudget] = options.GetTurnBudget()
	}
	if options.ConversationBudget != nil {
		values[settingCrowdBudget] = options.GetConversationBudget()
	}
	if options.GetHistory() == openintentv1.ChannelHistory_CHANNEL_HISTORY_FROM_JOIN {
		values[settingHistory] = "from_join"
	}
	if options.TtlSeconds != nil {
		values[settingTTL] = options.GetTtlSeconds()
	}
	if task != "" {
		values[settingTask] = task
	}
	return values
}

// missing returns the names of the list from that are not in the list in.
func missing(from, in []string) []string {
	known := make(map[string]bool, len(in))
	for _, name := range in {
		known[name] = true
	}
	return slices.DeleteFunc(append([]string{}, from...), func(name string) bool { return known[name] })
}

// String describes the change in one line.
func (c Change) String() string {
	switch c.Action {
	case ActionCreate:
		return "+ channel " + c.Name + " (" + strings.Join(c.wanted.words(), ", ") + ")"
	case ActionUpdate:
		return "~ channel " + c.Name + ": " + strings.Join(c.words(), "; ")
	default:
		return "= channel " + c.Name
	}
}

// words describe a channel without the settings that have their defaults.
func (c Channel) words() []string {
	words := []string{fmt.Sprint(settings(c.Policy, c.options(), "")[settingPolicy])}
	switch len(c.Members) {
	case 0:
	case 1:
		words = append(words, "1 member")
	default:
		words = append(words, fmt.Sprintf("%d members", len(c.Members)))
	}
	if c.Audit {
		words = append(words, "audit")
	}
	if c.TTLSeconds != nil {
		words = append(words, fmt.Sprintf("ttl %d s", *c.TTLSeconds))
	}
	if c.MaxMessages != defaultMessages {
		words = append(words, fmt.Sprintf("max %d messages", c.MaxMessages))
	}
	if c.FromJoin {
		words = append(words, "history from join")
	}
	switch c.TurnBudget {
	case defaultBudget:
	case 0:
		words = append(words, "no loop brake")
	default:
		words = append(words, fmt.Sprintf("turn budget %d", c.TurnBudget))
	}
	if c.ConversationBudget != nil {
		words = append(words, fmt.Sprintf("conversation budget %d", *c.ConversationBudget))
	}
	if c.TaskID != "" {
		words = append(words, "task "+c.TaskID)
	}
	return words
}

// maxNamed is how many members a line names; if there are more, the line has only their number.
const maxNamed = 5

// words describe what changes.
func (c Change) words() (words []string) {
	value := func(of any) string {
		if of == nil {
			return "none"
		}
		return fmt.Sprint(of)
	}
	for _, setting := range c.Settings {
		words = append(words, fmt.Sprintf("%s %s -> %s", setting.Name, value(setting.From), value(setting.To)))
	}
	if members := append(named("+", c.Added), named("-", c.Removed)...); len(members) > 0 {
		words = append(words, "members "+strings.Join(members, " "))
	}
	return words
}

func named(sign string, members []string) (words []string) {
	if len(members) > maxNamed {
		return []string{fmt.Sprintf("%s%d", sign, len(members))}
	}
	for _, name := range members {
		words = append(words, sign+name)
	}
	return words
}
