package conformance

import (
	"context"
	"encoding/json"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// scheme begins the addresses of the suite's resources.
const scheme = "test://"

var (
	// picture is a PNG of one pixel.
	picture = []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89" +
		"\x00\x00\x00\x0bIDATx\x9cc\x00\x01\x00\x00\x05\x00\x01\r\n\x2d\xb4\x00\x00\x00\x00IEND\xaeB`\x82")
	// sound is a WAV file of one silent sample.
	sound = []byte("RIFF\x26\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00" +
		"data\x02\x00\x00\x00\x00\x00")
)

func text(words string) *sdk.TextContent { return &sdk.TextContent{Text: words} }

func image() *sdk.ImageContent { return &sdk.ImageContent{Data: picture, MIMEType: "image/png"} }

func resource(uri string) *sdk.EmbeddedResource {
	return &sdk.EmbeddedResource{
		Resource: &sdk.ResourceContents{URI: uri, MIMEType: "text/plain", Text: "This is an embedded resource content."},
	}
}

// addResources adds the suite's resources.
func addResources(server *sdk.Server) {
	for name, content := range map[string]sdk.ResourceContents{
		"static-text":      {MIMEType: "text/plain", Text: "This is the content of the static text resource."},
		"static-binary":    {MIMEType: "image/png", Blob: picture},
		"watched-resource": {MIMEType: "text/plain", Text: "This resource can be watched."},
	} {
		content.URI = scheme + name
		server.AddResource(&sdk.Resource{Name: name, URI: content.URI, MIMEType: content.MIMEType}, reads(content))
	}
	template := &sdk.ResourceTemplate{Name: "template", URITemplate: scheme + "template/{id}/data", MIMEType: "application/json"}
	server.AddResourceTemplate(template, func(_ context.Context, request *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		id := strings.TrimSuffix(strings.TrimPrefix(request.Params.URI, scheme+"template/"), "/data")
		data, err := json.Marshal(map[string]any{"id": id, "templateTest": true, "data": "Data for ID: " + id})
		if err != nil {
			return nil, err
		}
		return contents(sdk.ResourceContents{URI: request.Params.URI, MIMEType: "application/json", Text: string(data)}), nil
	})
}

func reads(content sdk.ResourceContents) sdk.ResourceHandler {
	return func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return contents(content), nil
	}
}

func contents(content sdk.ResourceContents) *sdk.ReadResourceResult {
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{&content}}
}

// addPrompts adds the suite's prompts.
func addPrompts(server *sdk.Server) {
	needed := func(name string) *sdk.PromptArgument {
		return &sdk.PromptArgument{Name: name, Description: "Any text.", Required: true}
	}
	server.AddPrompt(&sdk.Prompt{Name: "test_simple_prompt", Description: "Says one thing."}, prompts(text("This is a simple prompt for testing.")))
	server.AddPrompt(&sdk.Prompt{Name: "test_prompt_with_image", Description: "Shows an image."}, prompts(image(), text("Look at the image above.")))
	server.AddPrompt(
		&sdk.Prompt{
			Name: "test_prompt_with_arguments", Description: "Says what it is given.",
			Arguments: []*sdk.PromptArgument{needed("arg1"), needed("arg2")},
		},
		func(ctx context.Context, request *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			given := request.Params.Arguments
			return prompts(text("Prompt with arguments: arg1='"+given["arg1"]+"', arg2='"+given["arg2"]+"'"))(ctx, request)
		})
	server.AddPrompt(
		&sdk.Prompt{
			Name: "test_prompt_with_embedded_resource", Description: "Shows a resource.",
			Arguments: []*sdk.PromptArgument{needed("resourceUri")},
		},
		func(ctx context.Context, request *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return prompts(resource(request.Params.Arguments["resourceUri"]), text("Read the resource above."))(ctx, request)
		})
	server.AddPrompt(&sdk.Prompt{Name: "test_input_required_result_prompt", Description: "Asks the user first."}, promptWithInput)
}

// prompts makes a prompt that always gives the same messages of the user.
func prompts(content ...sdk.Content) sdk.PromptHandler {
	return func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		result := &sdk.GetPromptResult{}
		for _, c := range content {
			result.Messages = append(result.Messages, &sdk.PromptMessage{Role: "user", Content: c})
		}
		return result, nil
	}
}
