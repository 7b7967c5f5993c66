package openapi

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// Binding is a path on which a method is called.
type Binding struct {
	Method protoreflect.MethodDescriptor
	// Rule says how the request and the answer are split.
	Rule *annotations.HttpRule
	// Verb is the HTTP method, and Path is the path as the proto has it: /v1/channels/{channel.id}.
	Verb, Path string
	// Created is true if the method answers 201.
	Created bool
	// IfMatch and IdempotencyKey are true if the method takes these headers.
	IfMatch, IdempotencyKey bool
}

// path returns the path as clients see it: without the names of messages in its parameters.
func (b *Binding) path() string {
	segments := strings.Split(b.Path, "/")
	for i, segment := range segments {
		if strings.HasPrefix(segment, "{") {
			segments[i] = strings.ReplaceAll(segment, ".", "_")
		}
	}
	return strings.Join(segments, "/")
}

// inPath returns the names of the request's fields that the path has: channel.id for {channel.id}.
func (b *Binding) inPath() (names []string) {
	for segment := range strings.SplitSeq(b.Path, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			names = append(names, strings.TrimSuffix(name, "}"))
		}
	}
	return names
}

// describer makes the document.
type describer struct {
	schemas
	paths map[string]map[string]*Operation
	// bindings are all bindings of each method.
	bindings map[protoreflect.FullName][]*Binding
}

// operation adds the operation of a binding.
func (d *describer) operation(b *Binding) {
	made := d.described(b.Method, d.operationID(b))
	parameters := made.Parameters
	for _, name := range b.inPath() {
		parameters = append(parameters, d.pathParameter(b, name))
	}
	if b.Rule.GetBody() == "" {
		parameters = append(parameters, d.queryParameters(b)...)
	}
	if b.IfMatch {
		parameters = append(parameters, &Parameter{Ref: reference("parameters", "IfMatch")})
	}
	if b.IdempotencyKey {
		parameters = append(parameters, &Parameter{Ref: reference("parameters", "IdempotencyKey")})
	}
	made.Parameters = parameters
	made.RequestBody = d.requestBody(b)
	status, response := d.success(b)
	made.Responses[status] = response
	d.add(b.path(), b.Verb, made)
}

func (d *describer) add(path, verb string, operation *Operation) {
	if d.paths[path] == nil {
		d.paths[path] = make(map[string]*Operation)
	}
	d.paths[path][strings.ToLower(verb)] = operation
}

// described returns what all operations of a method have in common.
func (d *describer) described(method protoreflect.MethodDescriptor, id string) *Operation {
	options, _ := method.Options().(*descriptorpb.MethodOptions)
	made := &Operation{
		Tags:       []string{string(method.Parent().Name())},
		ID:         id,
		Deprecated: options.GetDeprecated(),
		Parameters: []*Parameter{{Ref: reference("parameters", "AgentID")}},
		Responses: map[string]*Response{
			"4XX": {Ref: reference("responses", "Refused")},
			"5XX": {Ref: reference("responses", "Failed")},
		},
	}
	made.Summary, made.Description = d.comments.summary(method)
	return made
}

// operationID names an operation after its service and method. A further binding of a method is named after its verb, if the path is
// the same, or else after its path.
func (d *describer) operationID(b *Binding) string {
	id := string(b.Method.Parent().Name()) + "_" + string(b.Method.Name())
	first := d.bindings[b.Method.FullName()][0]
	switch {
	case b == first:
		return id
	case b.Path == first.Path:
		return id + "By" + title(b.Verb)
	}
	id += "At"
	for segment := range strings.SplitSeq(strings.TrimPrefix(b.Path, "/v1/"), "/") {
		if !strings.HasPrefix(segment, "{") {
			id += title(segment)
		}
	}
	return id
}

func title(word string) string { return strings.ToUpper(word[:1]) + strings.ToLower(word[1:]) }

func (d *describer) pathParameter(b *Binding, name string) *Parameter {
	field := fieldAt(b.Method.Input(), name)
	return &Parameter{
		Name: strings.ReplaceAll(name, ".", "_"), In: "path", Required: true,
		Description: d.comments.of(field), Schema: bounded(d.value(field, nil), field),
	}
}

// fieldAt returns the field that a path's parameter names: channel.id is the field id of the field channel.
func fieldAt(message protoreflect.MessageDescriptor, name string) protoreflect.FieldDescriptor {
	outer, inner, nested := strings.Cut(name, ".")
	field := message.Fields().ByName(protoreflect.Name(outer))
	if nested {
		return fieldAt(field.Message(), inner)
	}
	return field
}

func (d *describer) queryParameters(b *Binding) (parameters []*Parameter) {
	for field := range fieldsOf(b.Method.Input()) {
		if !slices.Contains(b.inPath(), string(field.Name())) {
			parameters = append(parameters, d.queryParameter(field))
		}
	}
	return parameters
}

// queryParameter describes a query key. A list is one text, with commas.
func (d *describer) queryParameter(field protoreflect.FieldDescriptor) *Parameter {
	made := &Parameter{
		Name: string(field.Name()), In: "query", Description: d.comments.of(field), Deprecated: isDeprecated(field),
		Required: behaves(field, annotations.FieldBehavior_REQUIRED), Schema: d.value(field, nil),
	}
	if field.IsList() {
		made.Style, made.Explode = "form", new(bool)
		made.Schema = &Schema{Type: "array", Items: made.Schema}
	}
	made.Schema = bounded(made.Schema, field)
	return made
}

// requestBody describes what a request holds; nil if it holds nothing.
func (d *describer) requestBody(b *Binding) *RequestBody {
	input := b.Method.Input()
	var schema *Schema
	switch body := b.Rule.GetBody(); body {
	case "":
		return nil
	case "*":
		without, elsewhere := d.pathFields(b)
		if input.Fields().Len() == len(without) {
			return nil
		}
		schema = d.body(string(input.Name()), input, without, elsewhere)
	default: // the resource that changes; its id is in the path
		resource := input.Fields().ByName(protoreflect.Name(body)).Message()
		schema = d.body(string(resource.Name())+"Input", resource, []string{"id"}, nil)
	}
	required := d.made[strings.TrimPrefix(schema.Ref, reference("schemas", ""))].Required
	return &RequestBody{Required: len(required) > 0, Content: map[string]MediaType{"application/json": {schema}}}
}

// pathFields returns the fields that all paths of the method have, and those that some have.
func (d *describer) pathFields(b *Binding) (all, some []string) {
	bindings := d.bindings[b.Method.FullName()]
	all = bindings[0].inPath()
	for _, other := range bindings {
		some = append(some, other.inPath()...)
		all = slices.DeleteFunc(all, func(name string) bool { return !slices.Contains(other.inPath(), name) })
	}
	return all, some
}

// success returns the status and the form of the answer to a call that succeeded.
func (d *describer) success(b *Binding) (string, *Response) {
	output := b.Method.Output()
	if output.FullName() == "google.protobuf.Empty" {
		return "204", &Response{Description: "Done; the answer has no body."}
	}
	made := &Response{Description: "Done.", Headers: headersOf(output)}
	if name := b.Rule.GetResponseBody(); name != "" {
		field := output.Fields().ByName(protoreflect.Name(name))
		made.Description = firstOr(d.comments.of(field), made.Description)
		made.Content = jsonContent(&Schema{Type: "array", Items: d.answer(field.Message())})
	} else {
		made.Description = firstOr(d.comments.of(output), made.Description)
		made.Content = jsonContent(d.answer(output))
	}
	if b.Created {
		return "201", made
	}
	return "200", made
}

func firstOr(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

func jsonContent(schema *Schema) map[string]MediaType {
	return map[string]MediaType{"application/json": {schema}}
}

// headersOf returns the headers that an answer has beside its body.
func headersOf(output protoreflect.MessageDescriptor) map[string]*Header {
	fields := output.Fields()
	switch {
	case fields.ByName("checkpoint") != nil && fields.ByName("events") != nil && fields.ByName("next_cursor") != nil:
		return map[string]*Header{"Link": headerNamed("Link"), "X-Events-Removed-Through": headerNamed("EventsRemovedThrough")}
	case fields.ByName("responses") != nil && fields.ByName("cause") != nil:
		return map[string]*Header{"X-OpenIntent-Cause": headerNamed("Cause")}
	case fields.ByName("next_cursor") != nil, fields.ByName("next_since") != nil:
		return map[string]*Header{"Link": headerNamed("Link")}
	case fields.ByName("version") != nil && fields.ByName("version").Kind() == protoreflect.Int64Kind:
		return map[string]*Header{"ETag": headerNamed("ETag")}
	}
	return nil
}

func headerNamed(name string) *Header { return &Header{Ref: reference("headers", name)} }

// Contract is what the server says of itself.
type Contract struct {
	// Bindings are in the order of the protos.
	Bindings []*Binding
	Streams  []*Stream
	// Doors are listed as they are.
	Doors any
}

// Describe makes the document.
func Describe(contract Contract) (made *Document, err error) {
	read, err := readComments()
	if err != nil {
		return nil, err
	}
	defer func() {
		if cause := recover(); cause != nil {
			made, err = nil, fmt.Errorf("describing the API: %v", cause)
		}
	}()
	d := &describer{
		schemas:  schemas{comments: read, made: make(map[string]*Schema), of: make(map[string]string)},
		paths:    make(map[string]map[string]*Operation),
		bindings: make(map[protoreflect.FullName][]*Binding),
	}
	for _, b := range contract.Bindings {
		d.bindings[b.Method.FullName()] = append(d.bindings[b.Method.FullName()], b)
		d.success(b) // The names of answers come first.
	}
	for _, b := range contract.Bindings {
		d.operation(b)
	}
	for _, s := range contract.Streams {
		d.stream(s)
	}
	d.add("/v1/server/config", http.MethodGet, d.serverConfig())
	return d.document(contract), nil
}
