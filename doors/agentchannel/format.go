package agentchannel

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"go.yaml.in/yaml/v3"

	"openintent/fault"
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

// write puts an answer into a form.
func (f format) write(answer any) ([]byte, error) {
	text, err := inJSON(answer)
	if err != nil {
		return nil, err
	}
	switch f {
	case formatYAML:
		return inYAML(text)
	case formatMarkdown:
		return inMarkdown(answer, text), nil
	}
	return text, nil
}

// inJSON writes a value as JSON that a person can read.
func inJSON(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(value)
	return out.Bytes(), err
}

// inYAML writes JSON as YAML, in the same order. JSON is YAML already; only the style changes. Texts stay in quotation marks, so that none
// becomes anything else.
func inYAML(text []byte) ([]byte, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	inBlocks(&document)
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	err := encoder.Encode(&document)
	return out.Bytes(), err
}

// inBlocks gives lists and objects the style of one line for each entry, unless they are empty. Keys that are plain words need no quotation
// marks.
func inBlocks(node *yaml.Node) {
	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 0 && strings.Trim(child.Value, "abcdefghijklmnopqrstuvwxyz_") == "" {
			child.Style = 0
		}
		inBlocks(child)
	}
	if node.Kind != yaml.ScalarNode && len(node.Content) > 0 {
		node.Style = 0
	}
}
