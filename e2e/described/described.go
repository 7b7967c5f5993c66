// Package described holds what goes over REST to the OpenAPI document: each answer must be what the document says of its operation and
// status, and what the server accepts must be what the document allows. An answer must have no member that the document does not name.
//
// The package harness holds every call to it that a test makes.
package described

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// Document is an OpenAPI document.
type Document struct {
	operations []*operation
	problem    *form
}

// operation is one method of one path.
type operation struct {
	verb     string
	segments []string
	request  *form
	// answers are by status; nil if an answer has no body.
	answers map[string]*form
	// events are by name; "" is for all others.
	events map[string]*form
}

// form is a schema. It is resolved when it is first used, because a process uses few of them.
type form struct {
	schema   *jsonschema.Schema
	resolved func() (*jsonschema.Resolved, error)
}

// Written reads the document that is in the repository. It is read once.
var Written = sync.OnceValues(func() (*Document, error) {
	_, here, _, _ := runtime.Caller(0)
	text, err := os.ReadFile(filepath.Join(filepath.Dir(here), "..", "..", "gen", "openapi", "openapi.json"))
	if err != nil {
		return nil, err
	}
	return Read(text)
})

type media struct {
	Schema *jsonschema.Schema
}

// Read reads a document.
func Read(text []byte) (*Document, error) {
	text = bytes.ReplaceAll(text, []byte("#/components/schemas/"), []byte("#/$defs/"))
	var read struct {
		Paths map[string]map[string]struct {
			RequestBody struct{ Content map[string]media }
			Responses   map[string]struct{ Content map[string]media }
		}
		Components struct{ Schemas map[string]json.RawMessage }
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return nil, fmt.Errorf("reading the OpenAPI document: %w", err)
	}
	named, err := readNamed(read.Components.Schemas)
	if err != nil {
		return nil, err
	}
	newForm := func(schema *jsonschema.Schema) *form {
		return &form{schema, sync.OnceValues(func() (*jsonschema.Resolved, error) { return named.resolve(schema) })}
	}
	d := &Document{problem: newForm(&jsonschema.Schema{Ref: "#/$defs/Problem"})}
	for path, verbs := range read.Paths {
		for verb, described := range verbs {
			o := &operation{
				verb: strings.ToUpper(verb), segments: strings.Split(path, "/"),
				answers: make(map[string]*form), events: make(map[string]*form),
			}
			for _, body := range described.RequestBody.Content {
				o.request = newForm(body.Schema)
			}
			for status, response := range described.Responses {
				o.answers[status] = nil
				for kind, body := range response.Content {
					o.answers[status] = newForm(body.Schema)
					if kind == eventStream {
						o.addEvents(body.Schema.ContentSchema.Items.AnyOf, newForm)
					}
				}
			}
			d.operations = append(d.operations, o)
		}
	}
	return d, nil
}

const eventStream = "text/event-stream"

// addEvents adds the forms of events: objects with the members event and data.
func (o *operation) addEvents(events []*jsonschema.Schema, newForm func(*jsonschema.Schema) *form) {
	for _, event := range events {
		name := ""
		if is := event.Properties["event"].Const; is != nil {
			name = (*is).(string)
		}
		o.events[name] = newForm(event.Properties["data"])
	}
}

// find returns the operation of a call; nil if there is none. A path that names more of the segments literally precedes.
func (d *Document) find(verb, path string) (found *operation) {
	if rest, ok := strings.CutPrefix(path, "/api/v1/"); ok {
		path = "/v1/" + rest
	}
	if verb == http.MethodHead {
		verb = http.MethodGet
	}
	segments, most := strings.Split(path, "/"), -1
	for _, o := range d.operations {
		if literal, matches := o.matches(segments); matches && o.verb == verb && literal > most {
			found, most = o, literal
		}
	}
	return found
}

func (o *operation) matches(segments []string) (literal int, matches bool) {
	if len(o.segments) != len(segments) {
		return 0, false
	}
	for i, own := range o.segments {
		switch {
		case own == segments[i]:
			literal++
		case !strings.HasPrefix(own, "{"):
			return 0, false
		}
	}
	return literal, true
}

// Call is a call and its answer, as far as a check needs them.
type Call struct {
	Verb, Path string
	// Sent is the request's body.
	Sent   []byte
	Status int
	Header http.Header
	Body   []byte
}

// Check returns what of a call is not as the document says. It says nothing of paths that the document does not have.
func (d *Document) Check(call Call) error {
	o := d.find(call.Verb, call.Path)
	if o == nil {
		return nil
	}
	if call.Status >= http.StatusBadRequest {
		if kind := call.Header.Get("Content-Type"); kind != "application/problem+json" {
			return fmt.Errorf("%s %s: the failure %d is no problem but %q", call.Verb, call.Path, call.Status, kind)
		}
		return d.problem.check(fmt.Sprintf("%s %s: the problem", call.Verb, call.Path), call.Body)
	}
	answer, ok := o.answers[fmt.Sprint(call.Status)]
	if !ok {
		return fmt.Errorf("%s %s: the document does not have the status %d", call.Verb, call.Path, call.Status)
	}
	if o.request != nil && len(bytes.TrimSpace(call.Sent)) > 0 {
		if err := o.request.check(fmt.Sprintf("%s %s: the request", call.Verb, call.Path), o.withoutPath(call.Sent)); err != nil {
			return err
		}
	}
	if call.Verb == http.MethodHead || call.Header.Get("Content-Type") == eventStream {
		return nil
	}
	about := fmt.Sprintf("%s %s: the answer %d", call.Verb, call.Path, call.Status)
	if answer == nil {
		if len(call.Body) > 0 {
			return fmt.Errorf("%s has a body, and the document says that it has none: %s", about, call.Body)
		}
		return nil
	}
	return answer.check(about, call.Body)
}

// CheckEvent returns what of an event of a stream is not as the document says.
func (d *Document) CheckEvent(path, event string, data []byte) error {
	o := d.find(http.MethodGet, path)
	if o == nil {
		return nil
	}
	described := o.events[event]
	if described == nil {
		described = o.events[""]
	}
	if described == nil {
		return fmt.Errorf("GET %s: the document does not have the event %s", path, event)
	}
	return described.check(fmt.Sprintf("GET %s: the event %s", path, event), data)
}

// withoutPath leaves out of a body what is in the path. It may be in both.
func (o *operation) withoutPath(body []byte) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return body
	}
	for _, segment := range o.segments {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			name = strings.TrimSuffix(name, "}")
			delete(members, name)
			if o.verb == http.MethodPatch {
				delete(members, "id") // of the resource that changes
			}
		}
	}
	rest, err := json.Marshal(members)
	if err != nil {
		return body
	}
	return rest
}

// check validates a text.
func (f *form) check(about string, text []byte) error {
	resolved, err := f.resolved()
	if err != nil {
		return fmt.Errorf("resolving the schema of %s: %w", about, err)
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return fmt.Errorf("%s is not JSON: %w: %s", about, err, text)
	}
	if err := resolved.Validate(value); err != nil {
		return fmt.Errorf("%s is not as the OpenAPI document says: %w\n%s", about, err, text)
	}
	return nil
}
