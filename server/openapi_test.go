package server

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// writtenDocument is the document as clients are made from it without a server: that of a server without doors.
const writtenDocument = "../gen/openapi/openapi.json"

func TestTheDocumentIsWritten(t *testing.T) {
	made, err := apiDocument(nil)
	require.NoError(t, err)
	var indented bytes.Buffer
	require.NoError(t, json.Indent(&indented, made.text, "", " "))
	indented.WriteByte('\n')
	if os.Getenv("OPENINTENT_TEST_UPDATE") != "" {
		require.NoError(t, os.MkdirAll(filepath.Dir(writtenDocument), 0o755))
		require.NoError(t, os.WriteFile(writtenDocument, indented.Bytes(), 0o644))
	}
	written, err := os.ReadFile(writtenDocument)
	require.NoError(t, err)
	require.True(t, bytes.Equal(written, indented.Bytes()),
		"%s is stale; write it anew with OPENINTENT_TEST_UPDATE=1 go test ./server -run TheDocumentIsWritten", writtenDocument)
}

// Each reference leads to a component, and each component is referred to.
func TestTheDocumentIsWhole(t *testing.T) {
	made, err := apiDocument(nil)
	require.NoError(t, err)
	var api map[string]any
	require.NoError(t, json.Unmarshal(made.text, &api))
	referred := make(map[string]bool)
	var walk func(thing any)
	walk = func(thing any) {
		switch thing := thing.(type) {
		case []any:
			for _, each := range thing {
				walk(each)
			}
		case map[string]any:
			if to, ok := thing["$ref"].(string); ok {
				referred[to] = true
			}
			for _, each := range thing {
				walk(each)
			}
		}
	}
	walk(api)
	there := make(map[string]bool)
	for kind, components := range api["components"].(map[string]any) {
		for name := range components.(map[string]any) {
			if kind != "securitySchemes" {
				there["#/components/"+kind+"/"+name] = true
			}
		}
	}
	require.Equal(t, there, referred)
}

// readAPIDocument reads /openapi.json in part.
func readAPIDocument(t *testing.T) (api apiInPart) {
	got := newREST(t).call(t, "GET", "/openapi.json", "", "X-API-Key", "")
	require.Equal(t, 200, got.status)
	require.NoError(t, json.Unmarshal([]byte(got.body), &api))
	return api
}

type apiInPart struct {
	OpenAPI    string
	Paths      map[string]map[string]operationInPart
	Components struct {
		Schemas map[string]schemaInPart
	}
}

type operationInPart struct {
	OperationID string
	Deprecated  bool
	Responses   map[string]struct {
		Ref     string `json:"$ref"`
		Content map[string]any
	}
	Parameters []struct {
		Ref                   string `json:"$ref"`
		Name, In, Description string
	}
}

type schemaInPart struct {
	Properties map[string]struct {
		Deprecated bool
		Type       any
		Minimum    *float64
		MaxLength  int
	}
	Required []string
	Enum     []string
}

func (o operationInPart) parameters(in string) (names []string) {
	for _, parameter := range o.Parameters {
		if parameter.In == in {
			names = append(names, parameter.Name)
		}
		if in == "component" && parameter.Ref != "" {
			names = append(names, strings.TrimPrefix(parameter.Ref, "#/components/parameters/"))
		}
	}
	return names
}

func TestTheAPIDocumentHasEachPathOnce(t *testing.T) {
	api := readAPIDocument(t)
	require.Equal(t, "3.1.0", api.OpenAPI)
	ids := make(map[string]bool)
	for path, operations := range api.Paths {
		require.NotContains(t, path, ".")
		for verb, operation := range operations {
			require.False(t, ids[operation.OperationID], operation.OperationID)
			ids[operation.OperationID] = true
			require.Equal(t, "#/components/responses/Refused", operation.Responses["4XX"].Ref)
			require.Equal(t, "#/components/responses/Failed", operation.Responses["5XX"].Ref)
			if verb == "delete" {
				require.Contains(t, operation.Responses, statusOfDeletion(path), path)
			}
			for _, name := range operation.parameters("path") {
				require.Contains(t, path, "{"+name+"}")
			}
			require.Equal(t, path != "/v1/server/config", slices.Contains(operation.parameters("component"), "AgentID"), path)
		}
	}
	table, err := newRoutes()
	require.NoError(t, err)
	for _, route := range table.all {
		path := strings.ReplaceAll("/"+strings.Join(route.segments, "/"), ".id}", "_id}")
		require.Contains(t, api.Paths[path], strings.ToLower(route.verb), path)
	}
}

func TestTheAPIDocumentSaysWhatTheServerDoes(t *testing.T) {
	api := readAPIDocument(t)
	require.Contains(t, api.Paths["/v1/tasks"]["post"].Responses, "201")
	require.Contains(t, api.Paths["/v1/channels/{channel_id}/messages"]["post"].Responses, "201")
	ask := api.Paths["/v1/channels/{channel_id}/ask"]["post"]
	require.Contains(t, ask.Responses, "200")
	require.Equal(t, "MessageService_Ask", ask.OperationID)
	require.Contains(t, ask.parameters("component"), "IdempotencyKey")
	require.NotContains(t, ask.parameters("component"), "IfMatch")
	require.Contains(t, api.Paths["/v1/tasks/{task_id}"]["patch"].parameters("component"), "IfMatch")

	message := api.Components.Schemas["Message"]
	require.Contains(t, message.Required, "to")
	require.Equal(t, []any{"string", "null"}, message.Properties["to"].Type)
	require.NotContains(t, message.Required, "subject", "it is left out while it is unset")
	require.Equal(t, "string", message.Properties["subject"].Type)
	request := api.Components.Schemas["SendMessageRequest"]
	require.Equal(t, []string{"payload"}, request.Required)
	require.NotContains(t, request.Properties, "channel_id", "it is in the path")
	require.Equal(t, 255, request.Properties["idempotency_key"].MaxLength)
	require.Equal(t, []string{"request", "response", "notify", "broadcast"}, api.Components.Schemas["MessageType"].Enum)
	require.NotContains(t, slices.Collect(maps.Keys(api.Components.Schemas["ChannelInput"].Properties)), "created_at", "it is output only")
	require.Contains(t, api.Components.Schemas["Problem"].Required, "reason")
	require.True(t, api.Components.Schemas["AskRequest"].Properties["timeout"].Deprecated)
	require.False(t, api.Components.Schemas["AskRequest"].Properties["timeout_seconds"].Deprecated)
}

func TestTheAPIDocumentHasTheStreams(t *testing.T) {
	api := readAPIDocument(t)
	subscribed := []string{lastEventKey, "event_types", "message_type", "correlation_id", "include", "probes"}
	for path, keys := range map[string][]string{
		"/v1/subscribe/channels/{channel_id}":           subscribed,
		"/v1/subscribe/intents/{intent_id}":             subscribed,
		"/v1/intents/{intent_id}/subscribe":             subscribed,
		"/v1/subscribe/agents/{agent_id}":               subscribed,
		"/v1/agents/{agent_id}/subscribe":               subscribed,
		"/v1/subscribe/subscriptions/{subscription_id}": {lastEventKey, "max_outstanding", "probes"},
	} {
		stream := api.Paths[path]["get"]
		require.Equal(t, keys, stream.parameters("query"), path)
		require.Contains(t, stream.parameters("component"), "LastEventID", path)
		require.Contains(t, stream.Responses["200"].Content, "text/event-stream", path)
		for _, parameter := range stream.Parameters {
			require.NotEmpty(t, parameter.Ref+parameter.Description, parameter.Name)
		}
	}
}

// statusOfDeletion is the status that DELETE on a path answers with: it has a body only where there is something to
// return.
func statusOfDeletion(path string) string {
	switch path {
	case "/v1/channels/{channel_id}", "/v1/channels/{channel_id}/members/{agent_id}", "/v1/subscriptions/{subscription_id}",
		"/v1/intents/{intent_id}/leases/{lease_id}", "/v1/channels/{channel_id}/messages/{message_id}/claim",
		"/v1/channels/{channel_id}/messages/{message_id}/reactions/{signal}", "/v1/channels/{channel_id}/messages/{message_id}":
		return "200"
	}
	return "204"
}
