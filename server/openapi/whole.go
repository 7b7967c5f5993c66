package openapi

import (
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"

	openintentv1 "openintent/gen/openintent/v1"
)

const about = "Channels and messages for agents. Every answer is as this document says, and every failure is a `Problem`, as " +
	"`application/problem+json`, with a stable `reason` to branch on. Each path is also there with `/api/v1` in place of `/v1`."

func (d *describer) document(contract Contract) *Document {
	d.component(Problem, "problem", func(into *Schema) { *into = problem(d.answer) })
	d.component("BadField", "problem", func(into *Schema) { *into = badField })
	return &Document{
		OpenAPI: "3.1.0",
		Info: Info{
			Title: "OpenIntent", Version: "v1", Description: about,
			License: License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
		},
		Servers:  []Server{{URL: "/", Description: "The server that publishes this document."}},
		Tags:     d.tags(contract),
		Security: []map[string][]string{{"ApiKey": {}}, {"Bearer": {}}},
		Paths:    d.paths,
		Components: Components{
			SecuritySchemes: securitySchemes,
			Parameters:      parameters,
			Headers:         headers,
			Responses:       failures,
			Schemas:         d.made,
		},
		Doors: contract.Doors,
	}
}

// tags describe the services that have operations, in the order of the protos.
func (d *describer) tags(contract Contract) []Tag {
	var tags []Tag
	add := func(service protoreflect.Descriptor) {
		tag := Tag{string(service.Name()), d.comments.of(service)}
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	for _, b := range contract.Bindings {
		add(b.Method.Parent())
	}
	for _, s := range contract.Streams {
		add(s.Method.Parent())
	}
	return append(tags, Tag{serverTag, "The server itself."})
}

const serverTag = "Server"

// Problem is the name of the schema of a failure.
const Problem = "Problem"

// serverConfig describes the one path that is no method.
func (*describer) serverConfig() *Operation {
	return &Operation{
		Tags: []string{serverTag}, Summary: "Tells what callers may know about the server's settings", ID: "Server_Config",
		Responses: map[string]*Response{
			"200": {Description: "The settings.", Content: jsonContent(&Schema{
				Type: "object", Required: []string{"protocol_version", "suspension"}, Properties: Properties{
					{"protocol_version", &Schema{Type: "string", Description: "The version of the coordination protocol."}},
					{"suspension", &Schema{Type: "object", Description: "What holds for suspended intents.", AdditionalProperties: true}},
				},
			})},
			"4XX": {Ref: reference("responses", "Refused")},
			"5XX": {Ref: reference("responses", "Failed")},
		},
	}
}

var securitySchemes = map[string]SecurityScheme{
	"ApiKey": {
		Type: "apiKey", In: "header", Name: "X-API-Key",
		Description: "A key of the server. The agent that a call is made for is named in the header `X-Agent-ID`.",
	},
	"Bearer": {
		Type: "http", Scheme: "bearer",
		Description: "A key of the server, or a token of an identity provider that the server trusts. On a connection with a client " +
			"certificate that the server knows, neither is needed.",
	},
}

var parameters = map[string]*Parameter{
	"AgentID": {
		Name: "X-Agent-ID", In: "header", Schema: &Schema{Type: "string"},
		Description: "The agent that calls. With a key that is bound to one agent, leave it out or name that agent; with a key of several " +
			"agents, name one of them. A key that is not bound acts as the operator when it names nobody.",
	},
	"IdempotencyKey": {
		Name: "Idempotency-Key", In: "header", Schema: &Schema{Type: "string", MinLength: 1, MaxLength: 255},
		Description: "Makes the call repeatable: a further call with the same key and the same content, within 24 hours, changes nothing " +
			"and gets the answer of the first. The same as the field idempotency_key.",
	},
	"IfMatch": {
		Name: "If-Match", In: "header", Schema: &Schema{Type: "string"},
		Description: "The version that the change is based on, as `5`, `\"5\"` or `W/\"5\"`. The same as the field expected_version.",
	},
	"LastEventID": {
		Name: "Last-Event-ID", In: "header", Schema: &Schema{Type: "string"},
		Description: "Continue after this event; absent: begin now, or where the subscription is.",
	},
}

var headers = map[string]*Header{
	"ETag": {Description: "The version, for If-Match.", Schema: &Schema{Type: "string"}},
	"Link": {
		Description: "Where the list goes on (`rel=\"next\"`), if it does; of messages also where it begins (`rel=\"first\"`).",
		Schema:      &Schema{Type: "string"},
	},
	"EventsRemovedThrough": {
		Description: "The sequence of the last event that was removed from the beginning of the log, if any was.",
		Schema:      &Schema{Type: "integer", Format: "int64"},
	},
	"Cause": {
		Description: "Why there are not as many responses as wanted, if the call has `explain`: such as DECLINED or NOT_ANSWERED.",
		Schema:      &Schema{Type: "string"},
	},
	"RetryAfter": {Description: "After how many seconds to try again, if that may help.", Schema: &Schema{Type: "integer"}},
	"RequestID":  {Description: "Under which id the server's log has the call.", Schema: &Schema{Type: "string"}},
}

var failures = map[string]*Response{
	"Refused": failed("The call is refused, and would be again as it is. The `reason` says why: " +
		"INVALID_FIELD (400), UNAUTHENTICATED (401), MESSAGE_TIMEOUT (408) and many more."),
	"Failed": failed("The server could not do it now: WRITE_QUEUE_FULL, SERVER_STOPPING (503), INTERNAL (500) and some more. A call that " +
		"is repeated under its `Idempotency-Key` happens once."),
}

func failed(description string) *Response {
	return &Response{
		Description: description,
		Headers:     map[string]*Header{"Retry-After": headerNamed("RetryAfter"), "X-Request-Id": headerNamed("RequestID")},
		Content:     map[string]MediaType{"application/problem+json": {schemaNamed(Problem)}},
	}
}

// problem describes a failure.
func problem(answer func(protoreflect.MessageDescriptor) *Schema) Schema {
	text := func(description string) *Schema { return &Schema{Type: "string", Description: description} }
	return Schema{
		Type: "object",
		Description: "A failure (RFC 9457). Facts such as `message_id` or `current_version` are further members; each is a text or an " +
			"integer.",
		Properties: Properties{
			{"type", text("A name for the sort of failure: urn:openintent:error:<error>.")},
			{"title", text("The HTTP status in words.")},
			{"status", &Schema{Type: "integer", Format: "int32", Description: "The HTTP status."}},
			{"detail", text("One sentence: what was wrong and what would be right.")},
			{"code", text("The canonical gRPC code, such as FAILED_PRECONDITION.")},
			{"reason", text("A stable word to branch on, such as CHANNEL_CLOSED. There may be new ones in a new release.")},
			{"error", text("The reason in lower case.")},
			{"message", text("The same as detail.")},
			{"errors", &Schema{Type: "array", Description: "Each bad field of the request.", Items: schemaNamed("BadField")}},
			{"existing_lease", answer(openintentv1.File_openintent_v1_leases_proto.Messages().ByName("Lease"))},
		},
		Required:             []string{"type", "title", "status", "detail", "code", "reason", "error", "message", "errors"},
		AdditionalProperties: &Schema{Type: []string{"string", "integer"}},
	}
}

// badField describes one of a problem's errors.
var badField = Schema{
	Type: "object", Description: "What is wrong with one field of a request.", Required: []string{"field", "description"},
	Properties: Properties{
		{"field", &Schema{Type: "string", Description: "The field's path."}},
		{"description", &Schema{Type: "string", Description: "What was wrong with it and what would be right."}},
	},
}
