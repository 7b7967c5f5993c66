package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// inputTools returns the tools that answer with a question, which the client answers with its next call.
func inputTools() []tool {
	return []tool{
		{"test_input_required_result_elicitation", "Asks the user for a name.", anything, asksName},
		{"test_input_required_result_sampling", "Asks the client's model.", anything, asksModel},
		{"test_input_required_result_list_roots", "Asks for the client's roots.", anything, asksRoots},
		{"test_input_required_result_request_state", "Asks, with a state that must come back.", anything, asksWithState("request_state")},
		{"test_input_required_result_tampered_state", "Refuses a changed state.", anything, asksWithState("tampered_state")},
		{"test_input_required_result_multiple_inputs", "Asks for three things at once.", anything, asksThree},
		{"test_input_required_result_multi_round", "Asks twice.", anything, asksTwice},
		{"test_input_required_result_capabilities", "Asks for what the client can do.", anything, asksWithin},
	}
}

// asked is the form that a question of the user has: one field that must be filled in.
func asked(question, field, kind string) *sdk.ElicitParams {
	schema := fmt.Sprintf(`{"type":"object","properties":{%q:{"type":%q}},"required":[%[1]q]}`, field, kind)
	return &sdk.ElicitParams{Message: question, RequestedSchema: json.RawMessage(schema)}
}

// sampled is a question to the client's model.
func sampled(question string) *sdk.CreateMessageParams {
	return &sdk.CreateMessageParams{
		Messages:  []*sdk.SamplingMessage{{Role: "user", Content: text(question)}},
		MaxTokens: 100,
	}
}

// wants makes an answer that asks for input.
func wants(state string, requests sdk.InputRequestMap) *sdk.CallToolResult {
	return &sdk.CallToolResult{InputRequests: requests, RequestState: state}
}

// filledIn returns what the user filled into a field, and nil if the user did not or the answer is of another kind.
func filledIn(responses sdk.InputResponseMap, question, field string) any {
	answer, ok := responses[question].(*sdk.ElicitResult)
	if !ok || answer == nil || answer.Action != "accept" {
		return nil
	}
	return answer.Content[field]
}

// modelSaid returns the text of the model's answer, and "" without one.
func modelSaid(responses sdk.InputResponseMap, question string) string {
	answer, ok := responses[question].(*sdk.CreateMessageWithToolsResult)
	if !ok || answer == nil {
		return ""
	}
	for _, c := range answer.Content {
		if words, isText := c.(*sdk.TextContent); isText {
			return words.Text
		}
	}
	return ""
}

func asksName(_ context.Context, request *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	if name, _ := filledIn(request.Params.InputResponses, "user_name", "name").(string); name != "" {
		return said("Hello, " + name + "!"), nil
	}
	return wants("", sdk.InputRequestMap{"user_name": asked("What is your name?", "name", "string")}), nil
}

func asksModel(_ context.Context, request *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	if words := modelSaid(request.Params.InputResponses, "capital_question"); words != "" {
		return said("The model said: " + words), nil
	}
	return wants("", sdk.InputRequestMap{"capital_question": sampled("What is the capital of France?")}), nil
}

func asksRoots(_ context.Context, request *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	if roots, ok := request.Params.InputResponses["client_roots"].(*sdk.ListRootsResult); ok && roots != nil {
		return said(fmt.Sprintf("The client has %d roots.", len(roots.Roots))), nil
	}
	return wants("", sdk.InputRequestMap{"client_roots": &sdk.ListRootsParams{}}), nil
}

// asksWithState makes a tool that gives out a state and refuses any other one.
func asksWithState(state string) sdk.ToolHandler {
	return func(_ context.Context, request *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		shown := request.Params.RequestState
		if shown != "" && shown != state {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "requestState is not the one that was given out"}
		}
		if shown == state && filledIn(request.Params.InputResponses, "confirm", "ok") != nil {
			return said("state-ok: the state came back with the confirmation."), nil
		}
		return wants(state, sdk.InputRequestMap{"confirm": asked("Please confirm.", "ok", "boolean")}), nil
	}
}

func asksThree(_ context.Context, request *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	given := request.Params.InputResponses
	name, _ := filledIn(given, "user_name", "name").(string)
	greeting := modelSaid(given, "greeting")
	roots, _ := given["client_roots"].(*sdk.ListRootsResult)
	if name != "" && greeting != "" && roots != nil {
		return said(fmt.Sprintf("%s %s, you have %d roots.", greeting, name, len(roots.Roots))), nil
	}
	return wants("multiple_inputs", sdk.InputRequestMap{
		"user_name":    asked("What is your name?", "name", "string"),
		"greeting":     sampled("Write a greeting."),
		"client_roots": &sdk.ListRootsParams{},
	}), nil
}

// firstRound and secondRound begin the states of asksTwice. The second carries the answer of the first, because the door keeps nothing.
const firstRound, secondRound = "round=1", "round=2;name="

func asksTwice(_ context.Context, request *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	state, given := request.Params.RequestState, request.Params.InputResponses
	if name, second := strings.CutPrefix(state, secondRound); second {
		return said(fmt.Sprintf("%s likes %v.", name, filledIn(given, "step2", "color"))), nil
	}
	if state == firstRound {
		name, _ := filledIn(given, "step1", "name").(string)
		return wants(secondRound+name, sdk.InputRequestMap{"step2": asked("What is your favourite colour?", "color", "string")}), nil
	}
	return wants(firstRound, sdk.InputRequestMap{"step1": asked("What is your name?", "name", "string")}), nil
}

func asksWithin(_ context.Context, request *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	if len(request.Params.InputResponses) > 0 {
		return said("The client answered within its capabilities."), nil
	}
	able, requests := request.ClientCapabilities(), sdk.InputRequestMap{}
	if able != nil && able.Elicitation != nil {
		requests["user_name"] = asked("What is your name?", "name", "string")
	}
	if able != nil && able.Sampling != nil {
		requests["greeting"] = sampled("Write a greeting.")
	}
	if able != nil && able.RootsV2 != nil {
		requests["client_roots"] = &sdk.ListRootsParams{}
	}
	if len(requests) == 0 {
		return said("The client can do nothing that could be asked for."), nil
	}
	return wants("", requests), nil
}

func promptWithInput(ctx context.Context, request *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
	if words, ok := filledIn(request.Params.InputResponses, "user_context", "context").(string); ok {
		return prompts(text("Context: "+words))(ctx, request)
	}
	return &sdk.GetPromptResult{InputRequests: sdk.InputRequestMap{"user_context": asked("What is the context?", "context", "string")}}, nil
}
