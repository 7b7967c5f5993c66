package openapi

import (
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	generated "openintent/gen/comments"
)

// comments are the protos' comments, by the full name of what they are about.
type comments map[protoreflect.FullName]string

func readComments() (read comments, err error) {
	if err := json.Unmarshal(generated.JSON, &read); err != nil {
		return nil, fmt.Errorf("reading the protos' comments: %w", err)
	}
	return read, nil
}

// of returns a comment, each paragraph and each point of a list on a line of its own.
func (c comments) of(about protoreflect.Descriptor) string {
	var out strings.Builder
	joined := false
	for line := range strings.SplitSeq(c[about.FullName()], "\n") {
		switch {
		case line == "":
			out.WriteString("\n\n")
			joined = false
			continue
		case strings.HasPrefix(line, "- ") && out.Len() > 0:
			out.WriteByte('\n')
		case joined:
			out.WriteByte(' ')
		}
		out.WriteString(line)
		joined = true
	}
	return out.String()
}

// summary splits a comment into its first sentence, without the full stop, and the rest.
func (c comments) summary(about protoreflect.Descriptor) (first, rest string) {
	text := c.of(about)
	for i := range text {
		if text[i] == '.' && (i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\n') {
			return text[:i], strings.TrimSpace(text[i+1:])
		}
	}
	return text, ""
}
