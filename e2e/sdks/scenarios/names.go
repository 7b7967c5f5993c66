package scenarios

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// namesIn returns the names of agents and roles in a file; each run makes them unique.
func namesIn(file *File) map[string]bool {
	names := make(map[string]bool)
	add := func(facts AgentFacts) {
		names[facts.ID] = true
		if facts.Role != "" {
			names[facts.Role] = true
		}
	}
	for _, facts := range file.Agents {
		add(facts)
	}
	for _, step := range file.Steps {
		if step.As != "" {
			names[step.As] = true
		}
		if role, ok := step.With["role"].(string); ok {
			names[role] = true
		}
		if facts, ok := step.With["agent"].(map[string]any); ok {
			id, _ := facts["id"].(string)
			role, _ := facts["role"].(string)
			add(AgentFacts{ID: id, Role: role})
		}
	}
	return names
}

// unique returns a name in the form that it has in this run.
func (s *story) unique(name string) string {
	bare, isRole := strings.CutPrefix(name, "role:")
	switch {
	case !s.names[bare]:
		return name
	case isRole:
		return "role:" + bare + s.suffix
	}
	return bare + s.suffix
}

// naming are the members that contain names of agents and roles.
var naming = map[string]bool{
	"to": true, "sender": true, "members": true, "agent": true, "client": true, "id": true, "role": true,
	"mentions": true,
}

// named makes the names in a step's facts unique. It leaves payloads unchanged.
func (s *story) named(member string, value any) any {
	switch value := value.(type) {
	case string:
		if naming[member] {
			return s.unique(value)
		}
	case []any:
		list := make([]any, len(value))
		for i, element := range value {
			list[i] = s.named(member, element)
		}
		return list
	case map[string]any:
		if member == "payload" || member == "metadata" || member == "reply" || member == "message_reply" {
			return value
		}
		object := make(map[string]any, len(value))
		for name, element := range value {
			object[name] = s.named(name, element)
		}
		return object
	}
	return value
}

// plain removes the run's suffix wherever it occurs, and converts numbers to one form.
func (s *story) plain(value any) any {
	switch value := value.(type) {
	case string:
		return strings.ReplaceAll(value, s.suffix, "")
	case int:
		return float64(value)
	case int64:
		return float64(value)
	case []any:
		list := make([]any, len(value))
		for i, element := range value {
			list[i] = s.plain(element)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(value))
		for name, element := range value {
			object[name] = s.plain(element)
		}
		return object
	}
	return value
}

var reference = regexp.MustCompile(`\$\{([^}]+)\}`)

// resolve replaces references by the values that they refer to. A string that consists of one reference takes the
// value's type.
func (s *story) resolve(value any, local map[string]any) (any, error) {
	switch value := value.(type) {
	case string:
		return s.resolveText(value, local)
	case []any:
		list := make([]any, len(value))
		for i, element := range value {
			resolved, err := s.resolve(element, local)
			if err != nil {
				return nil, err
			}
			list[i] = resolved
		}
		return list, nil
	case map[string]any:
		object := make(map[string]any, len(value))
		for name, element := range value {
			resolved, err := s.resolve(element, local)
			if err != nil {
				return nil, err
			}
			object[name] = resolved
		}
		return object, nil
	}
	return value, nil
}

func (s *story) resolveText(text string, local map[string]any) (any, error) {
	if whole := reference.FindString(text); whole != "" && whole == text {
		return s.look(whole[2:len(whole)-1], local)
	}
	var failure error
	resolved := reference.ReplaceAllStringFunc(text, func(found string) string {
		value, err := s.look(found[2:len(found)-1], local)
		if err != nil {
			failure = err
		}
		return fmt.Sprint(value)
	})
	return resolved, failure
}

// look follows a path such as answer.payload.x or list.0.id.
func (s *story) look(path string, local map[string]any) (any, error) {
	parts := strings.Split(path, ".")
	value, known := local[parts[0]]
	if !known {
		s.mutex.Lock()
		value, known = s.saved[parts[0]]
		s.mutex.Unlock()
	}
	for _, part := range parts[1:] {
		switch holder := value.(type) {
		case map[string]any:
			value, known = holder[part]
		case []any:
			index, err := strconv.Atoi(part)
			if known = err == nil && index < len(holder); known {
				value = holder[index]
			}
		default:
			known = false
		}
		if !known {
			break
		}
	}
	if !known {
		return nil, fmt.Errorf("nothing is saved as ${%s}", path)
	}
	return value, nil
}
