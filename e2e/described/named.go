package described

import (
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/google/jsonschema-go/jsonschema"
)

// namedSchemas are the schemas of a document to which others refer by their names.
type namedSchemas map[string]namedSchema

type namedSchema struct {
	*jsonschema.Schema
	// refersTo are the names of the schemas to which it refers.
	refersTo []string
}

// readNamed reads the schemas. They allow no other members than those that they name, if they name any. The document leaves answers open, so
// that clients take what a later release adds; the answers of this release have nothing that it does not name.
func readNamed(texts map[string]json.RawMessage) (namedSchemas, error) {
	named := make(namedSchemas, len(texts))
	for name, text := range texts {
		schema := &jsonschema.Schema{}
		if err := json.Unmarshal(text, schema); err != nil {
			return nil, fmt.Errorf("reading the schema %s: %w", name, err)
		}
		if schema.AdditionalProperties == nil && len(schema.Properties) > 0 {
			schema.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
		}
		named[name] = namedSchema{schema, references(text)}
	}
	return named, nil
}

// resolve prepares a schema for validating. It gives it only the named schemas to which it refers, itself or through others: all of
// them would have to be prepared as well, and that takes many times as long.
func (n namedSchemas) resolve(schema *jsonschema.Schema) (*jsonschema.Resolved, error) {
	text, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	root := *schema
	root.Defs = make(map[string]*jsonschema.Schema)
	for open := references(text); len(open) > 0; {
		name := open[0]
		open = open[1:]
		if found, ok := n[name]; ok && root.Defs[name] == nil {
			root.Defs[name] = found.Schema
			open = append(open, found.refersTo...)
		}
	}
	return root.CloneSchemas().Resolve(nil)
}

var reference = regexp.MustCompile(`"#/\$defs/([^"]+)"`)

// references returns the names to which the text of a schema refers.
func references(text []byte) (names []string) {
	for _, found := range reference.FindAllSubmatch(text, -1) {
		names = append(names, string(found[1]))
	}
	return names
}
