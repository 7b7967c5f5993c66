package openapi

import "encoding/json"

// Document is an OpenAPI document, as far as this package writes one.
type Document struct {
	OpenAPI    string                           `json:"openapi"`
	Info       Info                             `json:"info"`
	Servers    []Server                         `json:"servers"`
	Tags       []Tag                            `json:"tags"`
	Security   []map[string][]string            `json:"security"`
	Paths      map[string]map[string]*Operation `json:"paths"`
	Components Components                       `json:"components"`
	// Doors are the ways in for other protocols, of which OpenAPI knows nothing.
	Doors any `json:"x-doors"`
}

// Info says what the document describes.
type Info struct {
	Title       string  `json:"title"`
	Version     string  `json:"version"`
	Description string  `json:"description"`
	License     License `json:"license"`
}

// License is the licence of the API.
type License struct {
	Name       string `json:"name"`
	Identifier string `json:"identifier"`
}

// Server says where the paths are.
type Server struct {
	URL         string `json:"url"`
	Description string `json:"description"`
}

// Tag is a group of operations: a service.
type Tag struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// Components are what the rest of the document refers to.
type Components struct {
	SecuritySchemes map[string]SecurityScheme `json:"securitySchemes"`
	Parameters      map[string]*Parameter     `json:"parameters"`
	Headers         map[string]*Header        `json:"headers"`
	Responses       map[string]*Response      `json:"responses"`
	Schemas         map[string]*Schema        `json:"schemas"`
}

// SecurityScheme is a way to prove who calls.
type SecurityScheme struct {
	Type        string `json:"type"`
	In          string `json:"in,omitempty"`
	Name        string `json:"name,omitempty"`
	Scheme      string `json:"scheme,omitempty"`
	Description string `json:"description"`
}

// Operation is one method of one path.
type Operation struct {
	Tags        []string             `json:"tags"`
	Summary     string               `json:"summary"`
	Description string               `json:"description,omitempty"`
	ID          string               `json:"operationId"`
	Deprecated  bool                 `json:"deprecated,omitempty"`
	Parameters  []*Parameter         `json:"parameters,omitempty"`
	RequestBody *RequestBody         `json:"requestBody,omitempty"`
	Responses   map[string]*Response `json:"responses"`
}

// Parameter is a value in the path, the query or a header; or, if it has a Ref, one of the components.
type Parameter struct {
	Ref         string  `json:"$ref,omitempty"`
	Name        string  `json:"name,omitempty"`
	In          string  `json:"in,omitempty"`
	Description string  `json:"description,omitempty"`
	Required    bool    `json:"required,omitempty"`
	Deprecated  bool    `json:"deprecated,omitempty"`
	Style       string  `json:"style,omitempty"`
	Explode     *bool   `json:"explode,omitempty"`
	Schema      *Schema `json:"schema,omitempty"`
}

// RequestBody is what a request holds.
type RequestBody struct {
	Required bool                 `json:"required,omitempty"`
	Content  map[string]MediaType `json:"content"`
}

// Response is one answer; or, if it has a Ref, one of the components.
type Response struct {
	Ref         string               `json:"$ref,omitempty"`
	Description string               `json:"description,omitempty"`
	Headers     map[string]*Header   `json:"headers,omitempty"`
	Content     map[string]MediaType `json:"content,omitempty"`
}

// Header is a header of an answer; or, if it has a Ref, one of the components.
type Header struct {
	Ref         string  `json:"$ref,omitempty"`
	Description string  `json:"description,omitempty"`
	Schema      *Schema `json:"schema,omitempty"`
}

// MediaType is a body.
type MediaType struct {
	Schema *Schema `json:"schema"`
}

// Schema is a JSON Schema.
type Schema struct {
	Ref         string `json:"$ref,omitempty"`
	Description string `json:"description,omitempty"`
	Deprecated  bool   `json:"deprecated,omitempty"`
	// Type is one name or a list of names.
	Type                 any         `json:"type,omitempty"`
	Const                string      `json:"const,omitempty"`
	Enum                 []string    `json:"enum,omitempty"`
	AnyOf                []*Schema   `json:"anyOf,omitempty"`
	Format               string      `json:"format,omitempty"`
	Pattern              string      `json:"pattern,omitempty"`
	MinLength            uint64      `json:"minLength,omitempty"`
	MaxLength            uint64      `json:"maxLength,omitempty"`
	Minimum              json.Number `json:"minimum,omitempty"`
	ExclusiveMinimum     json.Number `json:"exclusiveMinimum,omitempty"`
	Maximum              json.Number `json:"maximum,omitempty"`
	Items                *Schema     `json:"items,omitempty"`
	MinItems             uint64      `json:"minItems,omitempty"`
	MaxItems             uint64      `json:"maxItems,omitempty"`
	UniqueItems          bool        `json:"uniqueItems,omitempty"`
	Properties           Properties  `json:"properties,omitempty"`
	Required             []string    `json:"required,omitempty"`
	AdditionalProperties any         `json:"additionalProperties,omitempty"`
	ContentMediaType     string      `json:"contentMediaType,omitempty"`
	ContentSchema        *Schema     `json:"contentSchema,omitempty"`
}

// Properties are the members of an object, in the order of the proto.
type Properties []Property

// Property is one member of an object.
type Property struct {
	Name   string
	Schema *Schema
}

// MarshalJSON writes the members in their order.
func (p Properties) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, property := range p {
		if i > 0 {
			out = append(out, ',')
		}
		name, err := json.Marshal(property.Name)
		if err != nil {
			return nil, err
		}
		schema, err := json.Marshal(property.Schema)
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, name...), ':'), schema...)
	}
	return append(out, '}'), nil
}

func reference(kind, name string) string { return "#/components/" + kind + "/" + name }

func schemaNamed(name string) *Schema { return &Schema{Ref: reference("schemas", name)} }
