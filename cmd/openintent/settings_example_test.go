package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// exampleSettings writes a settings file in which every setting is a comment, with what it means and its default.
func exampleSettings(flags []*kong.Flag) string {
	var text strings.Builder
	text.WriteString("# Settings of openintent serve, which reads this file with --settings-file or OPENINTENT_SETTINGS_FILE. A flag precedes\n" +
		"# a variable, and that precedes this file. The values are the defaults: take away the \"#\" of a line to set something else.\n")
	for _, flag := range flags {
		if !isSetting(flag) {
			continue
		}
		value := flag.Default
		if strings.HasSuffix(value, ":") || strings.Contains(value, ": ") || value == "" {
			value = fmt.Sprintf("%q", value)
		}
		fmt.Fprintf(&text, "\n%s#%s: %s\n", wrapped(flag.Help), flag.Name, value)
	}
	return text.String()
}

// uncommented takes away the "#" of the settings.
func uncommented(text string) string {
	var settings strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "# ") {
			settings.WriteString(line[1:])
		}
	}
	return settings.String()
}

// wrapped writes a text as lines of a comment.
func wrapped(text string) string {
	const width = 110
	var lines strings.Builder
	line := "#"
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > width {
			lines.WriteString(line + "\n")
			line = "#"
		}
		line += " " + word
	}
	return lines.String() + line + "\n"
}
