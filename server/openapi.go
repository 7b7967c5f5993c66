package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"openintent/gen/openapi"
	openintentv1 "openintent/gen/openintent/v1"
)

// apiDocument completes the generated OpenAPI document with what the annotations cannot express: the statuses of
// creation and deletion, the problem form, the paths that are not methods, and the doors that are open.
func apiDocument(doors []string) (document, error) {
	var api openAPI
	if err := json.Unmarshal(openapi.Document, &api); err != nil {
		return document{}, fmt.Errorf("reading the OpenAPI document: %w", err)
	}
	api.joinPaths()
	for path := range api.Paths {
		for _, operation := range api.Paths[path] {
			operation.completeResponses()
		}
	}
	maps.Copy(api.Paths, streamPaths())
	if err := json.Unmarshal([]byte(otherPaths), &api.Paths); err != nil {
		return document{}, fmt.Errorf("completing the OpenAPI document: %w", err)
	}
	if err := json.Unmarshal([]byte(problemDefinition), &api.Definitions); err != nil {
		return document{}, fmt.Errorf("completing the OpenAPI document: %w", err)
	}
	api.Doors = listDoors(doors)
	return jsonDocument(api)
}

// openAPI is the part of an OpenAPI 2.0 document that is completed here; the rest passes through unchanged.
type openAPI struct {
	Swagger             string                          `json:"swagger"`
	Info                json.RawMessage                 `json:"info"`
	Tags                json.RawMessage                 `json:"tags,omitempty"`
	Consumes            json.RawMessage                 `json:"consumes,omitempty"`
	Produces            json.RawMessage                 `json:"produces,omitempty"`
	SecurityDefinitions json.RawMessage                 `json:"securityDefinitions,omitempty"`
	Security            json.RawMessage                 `json:"security,omitempty"`
	Paths               map[string]map[string]operation `json:"paths"`
	Definitions         map[string]json.RawMessage      `json:"definitions"`
	// Doors are the ways in for other protocols, of which OpenAPI knows nothing.
	Doors []listedDoor `json:"x-doors"`
}

// operation is one method of one path.
type operation map[string]any

// joinPaths merges paths that differ only in the spelling of a parameter ({channel.id} and {channel_id}).
func (a *openAPI) joinPaths() {
	for _, path := range sortedKeys(a.Paths) {
		joined := strings.ReplaceAll(path, ".id}", "_id}")
		if joined == path {
			continue
		}
		for verb, moved := range a.Paths[path] {
			moved.renameParameters()
			if a.Paths[joined] == nil {
				a.Paths[joined] = make(map[string]operation)
			}
			a.Paths[joined][verb] = moved
		}
		delete(a.Paths, path)
	}
}

func (o operation) renameParameters() {
	parameters, _ := o["parameters"].([]any)
	for _, each := range parameters {
		parameter, _ := each.(map[string]any)
		if name, _ := parameter["name"].(string); parameter["in"] == "path" {
			parameter["name"] = strings.ReplaceAll(name, ".id", "_id")
		}
	}
}

// completeResponses adds the status of a success and the form of a failure.
func (o operation) completeResponses() {
	responses, _ := o["responses"].(map[string]any)
	if failure, ok := responses["default"].(map[string]any); ok {
		failure["schema"] = map[string]any{"$ref": "#/definitions/Problem"}
	}
	success, ok := responses["200"].(map[string]any)
	if !ok {
		return
	}
	switch {
	case creations[o.method()]:
		success["description"] = "Created."
		responses["201"] = success
		delete(responses, "200")
	case isEmptySchema(success["schema"]):
		responses["204"] = map[string]any{"description": "Done; the response has no body."}
		delete(responses, "200")
	}
}

// method returns the full name of the RPC. It derives the name from an id such as TaskService_CreateTask or, for a
// further binding of the same method, TaskService_CreateTask2.
func (o operation) method() string {
	id, _ := o["operationId"].(string)
	service, method, _ := strings.Cut(strings.TrimRight(id, "0123456789"), "_")
	return "/" + string(openintentv1.File_openintent_v1_common_proto.Package()) + "." + service + "/" + method
}

// isEmptySchema reports whether a schema is google.protobuf.Empty's.
func isEmptySchema(schema any) bool {
	object, _ := schema.(map[string]any)
	properties, listed := object["properties"].(map[string]any)
	return listed && len(properties) == 0
}

func sortedKeys[V any](from map[string]V) []string { return slices.Sorted(maps.Keys(from)) }

const problemDefinition = `{"Problem": {
	"type": "object",
	"description": "A failure (RFC 9457), as application/problem+json. Facts such as message_id or current_version are further members.",
	"properties": {
		"type": {"type": "string", "description": "A name for the sort of failure: urn:openintent:error:<error>."},
		"title": {"type": "string", "description": "The HTTP status in words."},
		"status": {"type": "integer", "format": "int32", "description": "The HTTP status."},
		"detail": {"type": "string", "description": "One sentence: what was wrong and what would be right."},
		"code": {"type": "string", "description": "The canonical gRPC code, such as FAILED_PRECONDITION."},
		"reason": {"type": "string", "description": "A stable word to branch on, such as CHANNEL_CLOSED."},
		"error": {"type": "string", "description": "The reason in lower case."},
		"message": {"type": "string", "description": "The same as detail."},
		"existing_lease": {"type": "object", "description": "The lease that stands, if the reason is LEASE_HELD."},
		"errors": {"type": "array", "description": "Each bad field of the request.", "items": {
			"type": "object",
			"properties": {
				"field": {"type": "string", "description": "The field's path."},
				"description": {"type": "string", "description": "What was wrong with it and what would be right."}
			}
		}}
	}
}}`

const otherPaths = `{
	"/v1/server/config": {"get": {
		"summary": "Tells what callers may know about the server's settings.",
		"operationId": "Server_Config",
		"responses": {
			"200": {"description": "The settings.", "schema": {"type": "object"}},
			"default": {"description": "A failure.", "schema": {"$ref": "#/definitions/Problem"}}
		},
		"tags": ["Server"]
	}}
}`
