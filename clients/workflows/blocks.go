package workflows

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/fault"
)

// channels reads the block of that name. It adds the names of all channels to names, even of channels with mistakes, so that
// handlers of these do not cause another problem.
func (r *reader) channels(block entry, names map[string]bool) (channels []Channel) {
	entries := r.entries(block.value, "channels", textKeys)
	if len(entries) > maxChannels {
		r.problem(block.at, "the file has %d channels; it may have %d at most.", len(entries), maxChannels)
		return nil
	}
	for _, e := range entries {
		names[e.name] = true
		if wrong := wrongChannelName(e.name); wrong != "" {
			r.problem(e.at, "the channel's name %s %s", quoted(e.name), wrong)
		}
		channels = append(channels, r.channel(e))
	}
	return channels
}

// wrongChannelName says what is wrong with a name by the contract's rules; it is empty for a good name.
func wrongChannelName(name string) string {
	switch length := utf8.RuneCountInString(name); {
	case strings.TrimSpace(name) == "":
		return "is blank; it holds at least one character that is not white space."
	case length > maxChannelName:
		return fmt.Sprintf("has %d characters; it has %d at most.", length, maxChannelName)
	case strings.Contains(name, "/"):
		return `holds a "/", which no channel's name may.`
	case strings.ContainsFunc(name, unicode.IsControl):
		return "holds a control character, which no channel's name may."
	}
	return ""
}

// channel reads one channel. "key: null" means the same as leaving the key out.
func (r *reader) channel(at entry) Channel {
	channel := Channel{
		At: at.at, Name: at.name, Policy: openintentv1.MemberPolicy_MEMBER_POLICY_INTENT, MaxMessages: defaultMessages,
		TurnBudget: defaultBudget,
	}
	for _, e := range r.entries(at.value, "channel "+quoted(at.name), textKeys) {
		switch {
		case !knownChannelKey(e.name):
			r.problem(e.at, "%s is unknown; a channel has members, member_policy, audit, ttl_seconds, max_messages, history, "+
				"turn_budget, conversation_budget and task_id.", quoted(e.name))
		case !isNull(e.value):
			r.setting(&channel, e)
		}
	}
	return channel
}

func knownChannelKey(name string) bool {
	switch name {
	case "members", "member_policy", "audit", "ttl_seconds", "max_messages", "history", "turn_budget", "conversation_budget", "task_id":
		return true
	}
	return false
}

// setting reads one known key of a channel.
func (r *reader) setting(channel *Channel, e entry) {
	switch e.name {
	case "members":
		channel.Members = r.members(e)
	case "member_policy":
		channel.Policy = r.policy(e.value)
	case "audit":
		channel.Audit, _ = r.truth(e.value, "audit")
	case "ttl_seconds":
		channel.TTLSeconds = r.number(e.value, "ttl_seconds", maxTTLSeconds)
	case "max_messages":
		if bound := r.number(e.value, "max_messages", maxMaxMessages); bound != nil {
			channel.MaxMessages = *bound
		}
	case "history":
		channel.FromJoin = r.fromJoin(e.value)
	case "turn_budget":
		channel.TurnBudget = r.budget(e.value, e.name, mostBudget)
	case "conversation_budget":
		budget := r.budget(e.value, e.name, mostCrowdBudget)
		channel.ConversationBudget = &budget
	case "task_id":
		channel.TaskID = r.bounded(e.value, "task_id", maxID)
	}
}

// budget reads a number up to a bound, or 0 for no brake.
func (r *reader) budget(node *yaml.Node, name string, most int64) (budget int64) {
	switch {
	case node.Kind != yaml.ScalarNode || node.ShortTag() != "!!int":
		r.problem(position(node), "%s must be a whole number, not %s.", name, kind(node))
	case node.Decode(&budget) != nil || budget != 0 && (budget < leastBudget || budget > most):
		r.problem(position(node), "%s is %s; it is 0, for no brake, or lies between %d and %d.",
			name, shortened(node.Value), leastBudget, most)
	}
	return budget
}

func (r *reader) members(e entry) (members []string) {
	items := r.items(e.value, "members")
	if len(items) > maxMembers {
		r.problem(e.at, "members lists %d agents; a channel lists %d at most.", len(items), maxMembers)
		return nil
	}
	lines := make(map[string]int, len(items))
	for _, item := range items {
		name, ok := r.text(item, "a member")
		if !ok {
			continue
		}
		at := position(item)
		if first, repeated := lines[name]; repeated {
			r.problem(at, "the member %s appears here a second time, after line %d; keep one.", quoted(name), first)
			continue
		}
		lines[name] = at.Line
		r.agentID(at, "the member "+quoted(name), name)
		members = append(members, name)
	}
	return members
}

// agentID checks a text that must be an agent's id.
func (r *reader) agentID(at Position, what, id string) {
	if err := caller.CheckName(what, id); err != nil {
		for _, field := range fault.From(err).Fields {
			r.problem(at, "%s is not possible: %s", field.Path, field.Description)
		}
	}
}

func (r *reader) policy(node *yaml.Node) openintentv1.MemberPolicy {
	if node.Kind == yaml.ScalarNode {
		switch node.Value {
		case "explicit":
			return openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT
		case "intent":
			return openintentv1.MemberPolicy_MEMBER_POLICY_INTENT
		}
	}
	r.problem(position(node), "member_policy must be explicit (only the members) or intent (everybody with access to the intent), not %s.",
		kind(node))
	return openintentv1.MemberPolicy_MEMBER_POLICY_INTENT
}

// fromJoin reads the history setting, and reports whether members that are added later see only messages sent after that.
func (r *reader) fromJoin(node *yaml.Node) bool {
	if node.Kind != yaml.ScalarNode || node.Value != "all" && node.Value != "from_join" {
		r.problem(position(node), "history must be all or from_join (what is sent after a member was added), not %s.", kind(node))
	}
	return node.Value == "from_join"
}

// agents checks the handlers in the block of that name. The agents' own programs use the handlers; everything else in an
// agent's block is for other tools.
func (r *reader) agents(block entry, channels map[string]bool) {
	for _, agent := range r.entries(block.value, "agents", anyKeys) {
		if agent.value.Kind != yaml.MappingNode {
			continue
		}
		for _, e := range r.entries(agent.value, "agent "+quoted(agent.name), anyKeys) {
			if e.name != "on_message" {
				continue
			}
			r.agentID(agent.at, "the agent "+quoted(agent.name), agent.name)
			for _, item := range r.items(e.value, "on_message") {
				r.handler(item, channels)
			}
		}
	}
}

// handler checks one item of on_message.
func (r *reader) handler(item *yaml.Node, channels map[string]bool) {
	if item.Kind != yaml.MappingNode {
		r.problem(position(item), "on_message lists mappings with channel and handler, not %s.", kind(item))
		return
	}
	named := false
	for _, e := range r.entries(item, "on_message", textKeys) {
		switch e.name {
		case "handler":
			named = true
			r.text(e.value, "handler")
		case "channel":
			if isNull(e.value) {
				continue
			}
			name, ok := r.text(e.value, "channel")
			if ok && !channels[name] {
				r.problem(position(e.value), "there is no channel %s in this file; name one of its channels, or leave channel out for all.",
					quoted(name))
			}
		default:
			r.problem(e.at, "%s is unknown; on_message has channel and handler.", quoted(e.name))
		}
	}
	if !named {
		r.problem(position(item), "handler is missing; it names what handles the messages.")
	}
}

// optional is bounded for a text that may be empty or missing.
func (r *reader) optional(node *yaml.Node, what string, most int) string {
	if isNull(node) || node.Kind == yaml.ScalarNode && node.ShortTag() == "!!str" && node.Value == "" {
		return ""
	}
	return r.bounded(node, what, most)
}

// bounded reads a text of at least one character and at most as many as given.
func (r *reader) bounded(node *yaml.Node, what string, most int) string {
	text, ok := r.text(node, what)
	if !ok {
		return ""
	}
	switch length := utf8.RuneCountInString(text); {
	case length > most:
		r.problem(position(node), "%s has %d characters; it has %d at most.", what, length, most)
	case strings.ContainsRune(text, 0):
		r.problem(position(node), "%s holds U+0000, which no text may.", what)
	default:
		return text
	}
	return ""
}
