package agentchannel

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"openintent/internal/fault"
	"openintent/internal/jsonvalue"
)

// format is one of the forms that answers have.
type format string

const (
	formatJSON     format = "json"
	formatYAML     format = "yaml"
	formatMarkdown format = "markdown"
)

// formats are the words for them in the parameter format.
var formats = map[string]format{
	"json": formatJSON, "yaml": formatYAML, "yml": formatYAML, "markdown": formatMarkdown, "md": formatMarkdown,
}

// mediaTypes are their names in Accept. What is not here is answered in JSON.
var mediaTypes = map[string]format{
	"application/json": formatJSON, "application/yaml": formatYAML, "application/x-yaml": formatYAML, "text/yaml": formatYAML,
	"text/x-yaml": formatYAML, "text/markdown": formatMarkdown, "text/x-markdown": formatMarkdown,
}

// contentTypes are the types of answers.
var contentTypes = map[format]string{
	formatJSON: "application/json", formatYAML: "application/yaml; charset=utf-8", formatMarkdown: "text/markdown; charset=utf-8",
}

// formatOf returns the form that a request asks for: by the parameter format, or else by the first type in Accept that the door has.
func formatOf(r *http.Request) (format, error) {
	if asked := r.URL.Query()["format"]; len(asked) > 0 {
		found, known := formats[strings.ToLower(asked[0])]
		if !known || len(asked) > 1 {
			return "", fault.BadField("format", "must be json, yaml or md, once.")
		}
		return found, nil
	}
	for _, line := range r.Header.Values("Accept") {
		for _, part := range strings.Split(line, ",") {
			name, parameters, _ := strings.Cut(part, ";")
			if found, known := mediaTypes[strings.ToLower(strings.TrimSpace(name))]; known && !refusesType(parameters) {
				return found, nil
			}
		}
	}
	return formatJSON, nil
}

// refusesType reports whether the parameters of a type say that it is not wanted.
func refusesType(parameters string) bool {
	weight, _, _ := strings.Cut(strings.ReplaceAll(parameters, " ", ""), ";")
	return weight == "q=0" || weight == "q=0.0"
}

// write puts an answer, whose JSON is text, into a form.
func (f format) write(out *bufio.Writer, answer any, text []byte) {
	switch f {
	case formatYAML:
		jsonvalue.WriteYAML(out, text)
	case formatMarkdown:
		writeMarkdown(out, answer, text)
	default:
		jsonvalue.WriteLines(out, text)
	}
}

// inJSON writes a value as JSON without white space.
func inJSON(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimRight(out.Bytes(), "\n"), err
}
