package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// tool is a tool of the suite.
type tool struct {
	name, description, schema string
	call                      sdk.ToolHandler
}

// anything is the schema of a tool without arguments.
const anything = `{"type":"object"}`

// tools returns the suite's tools.
func tools() []tool {
	return slices.Concat([]tool{
		{"test_simple_text", "Answers with a text.", anything, says(text("This is a simple text response for testing."))},
		{"test_image_content", "Answers with an image.", anything, says(image())},
		{"test_audio_content", "Answers with a sound.", anything, says(&sdk.AudioContent{Data: sound, MIMEType: "audio/wav"})},
		{"test_embedded_resource", "Answers with a resource.", anything, says(resource(scheme + "embedded-resource"))},
		{"test_multiple_content_types", "Answers with a text, an image and a resource.", anything,
			says(text("Three kinds of content follow."), image(), resource(scheme+"mixed-content-resource"))},
		{"test_error_handling", "Fails.", anything, fails},
		{"test_tool_with_logging", "Logs three times.", anything, logs},
		{"test_tool_with_progress", "Reports its progress three times.", anything, progresses},
		{"test_logging_tool", "Logs once, if the client wants to hear it.", anything, logsOnce},
		{"test_streaming_elicitation", "Asks for nothing while it runs.", anything, says(text("Nothing was asked."))},
		{"test_missing_capability", "Needs a client that can sample.", anything, needsSampling},
		{"test_trigger_tool_change", "Changes the list of tools.", anything, changesTools},
		{"test_trigger_prompt_change", "Changes the list of prompts.", anything, changesPrompts},
		{"json_schema_2020_12_tool", "Has a schema of the draft 2020-12.", schema2020, says(text("The schema was read."))},
		{"test_x_mcp_header", "Takes an argument that a header repeats.", headerSchema, says(text("The headers agree."))},
	}, inputTools(), taskTools())
}

// schema2020 uses the words of JSON Schema's draft 2020-12 that must reach a client unchanged.
const schema2020 = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},
"phone":{"type":"string"},"email":{"type":"string"}},
"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},
"else":{"required":["email"]},"additionalProperties":false}`

// headerSchema has an argument that a client repeats in the header Mcp-Param-Region.
const headerSchema = `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"level":{"type":"integer"}}}`

// says makes a tool that always answers the same.
func says(content ...sdk.Content) sdk.ToolHandler {
	return func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: content}, nil
	}
}

func fails(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	result := &sdk.CallToolResult{}
	result.SetError(errors.New("this tool intentionally returns an error for testing"))
	return result, nil
}

func logs(ctx context.Context, request *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	for _, line := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
		if err := log(ctx, request, line); err != nil {
			return nil, err
		}
	}
	return said("Logged three times."), nil
}

func logsOnce(ctx context.Context, request *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	if err := log(ctx, request, "Tool executed"); err != nil {
		return nil, err
	}
	return said("Logged, if it was wanted."), nil
}

func log(ctx context.Context, request *sdk.CallToolRequest, line string) error {
	return request.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "info", Data: line})
}

func progresses(ctx context.Context, request *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	token := request.Params.GetProgressToken()
	for _, percent := range []float64{0, 50, 100} {
		err := request.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
			ProgressToken: token, Progress: percent, Total: 100, Message: fmt.Sprintf("%.0f of 100", percent),
		})
		if err != nil {
			return nil, err
		}
	}
	return said(fmt.Sprint(token)), nil
}

func needsSampling(_ context.Context, request *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	if able := request.ClientCapabilities(); able != nil && able.Sampling != nil {
		return said("The client can sample."), nil
	}
	data, err := json.Marshal(sdk.MissingRequiredClientCapabilityData{
		RequiredCapabilities: &sdk.ClientCapabilities{Sampling: &sdk.SamplingCapabilities{}},
	})
	if err != nil {
		return nil, err
	}
	return nil, &jsonrpc.Error{
		Code: sdk.CodeMissingRequiredClientCapabilities, Message: "the tool needs a client that can sample", Data: data,
	}
}

func changesTools(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	passing := &sdk.Tool{Name: "test_passing_tool", Description: "Comes and goes.", InputSchema: json.RawMessage(anything)}
	running.each(func(server *sdk.Server) { server.AddTool(passing, says(text("Here."))) })
	return said("The tools have changed."), nil
}

func changesPrompts(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	running.each(func(server *sdk.Server) {
		server.AddPrompt(&sdk.Prompt{Name: "test_passing_prompt"}, prompts(text("Here.")))
	})
	return said("The prompts have changed."), nil
}

func said(words string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{text(words)}}
}
