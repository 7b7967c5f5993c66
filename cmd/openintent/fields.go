package main

import (
	"errors"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"

	openintent "openintent/sdk/go"
)

// fieldPath finds the last name in a path such as options.max_messages or agents[0].
var fieldPath = regexp.MustCompile(`^(?:.*\.)?([a-z_]+)(?:\[\d+\])?$`)

// inFlags returns a server's refusal of fields in the words of the command line: it names the flag from which a field came. The tag
// field of a flag has the field's name where the two differ.
func inFlags(err error, parsed *kong.Context) error {
	var refused *openintent.Error
	if !errors.As(err, &refused) || len(refused.Violations) == 0 {
		return err
	}
	spoken := *refused
	for _, violation := range refused.Violations {
		if flag := flagOf(violation.Field, parsed); flag != "" {
			spoken.Message = strings.Replace(spoken.Message, violation.Field+":", flag+":", 1)
		}
	}
	return &spoken
}

// flagOf returns the flag from which a field came, as --flag; empty if it came from elsewhere.
func flagOf(field string, parsed *kong.Context) string {
	path := fieldPath.FindStringSubmatch(field)
	if path == nil {
		return ""
	}
	for _, flag := range parsed.Flags() {
		if flag.Tag.Get("field") == path[1] || strings.ReplaceAll(flag.Name, "-", "_") == path[1] {
			return "--" + flag.Name
		}
	}
	return ""
}
