package mcp

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc/codes"

	"openintent/doors"
)

// kind is what a resource is of.
type kind int

const (
	intentResource kind = iota
	channelResource
	inboxResource
)

// scheme begins the address of each resource.
const scheme = "openintent://"

// templates are the addresses of all resources. A channel stands beside its intent and not below it, because the contract, and each
// tool, knows a channel by its id alone.
var templates = []*sdk.ResourceTemplate{
	{
		Name: "intent", URITemplate: scheme + "intents/{id}", MIMEType: mimeType,
		Description: "What an intent is about, and its channels. It changes with whatever happens in the intent.",
	},
	{
		Name: "channel", URITemplate: scheme + "channels/{id}", MIMEType: mimeType,
		Description: "A channel and its newest messages.",
	},
	{
		Name: "inbox", URITemplate: scheme + "agents/{id}/inbox", MIMEType: mimeType,
		Description: "What waits for you. Nobody reads another agent's inbox.",
	},
}

const mimeType = "application/json"

// resource names one resource.
type resource struct {
	kind kind
	id   string
}

// address returns the resource's address.
func (r resource) address() string {
	id := url.PathEscape(r.id)
	switch r.kind {
	case intentResource:
		return scheme + "intents/" + id
	case channelResource:
		return scheme + "channels/" + id
	}
	return scheme + "agents/" + id + "/inbox"
}

// resourceAt returns the resource at an address, and false if the address is none of a resource's.
func resourceAt(address string) (resource, bool) {
	path, ok := strings.CutPrefix(address, scheme)
	if !ok {
		return resource{}, false
	}
	collection, rest, _ := strings.Cut(path, "/")
	found := resource{}
	switch collection {
	case "intents":
		found.kind = intentResource
	case "channels":
		found.kind = channelResource
	case "agents":
		found.kind = inboxResource
		if rest, ok = strings.CutSuffix(rest, "/inbox"); !ok {
			return resource{}, false
		}
	default:
		return resource{}, false
	}
	id, err := url.PathUnescape(rest)
	if err != nil || id == "" || strings.Contains(rest, "/") {
		return resource{}, false
	}
	found.id = id
	return found, true
}

// resourceOf returns the resource at an address if the caller may know of it. Another agent's inbox is like one that does not exist.
func (s *session) resourceOf(address string) (resource, error) {
	found, ok := resourceAt(address)
	if !ok || found.kind == inboxResource && found.id != s.caller.Agent {
		return resource{}, errNoResource(address)
	}
	return found, nil
}

// errNoResource says that there is nothing at an address, or nothing that the caller may see. Nobody learns which of the two.
func errNoResource(address string) error {
	return &jsonrpc.Error{
		Code: jsonrpc.CodeInvalidParams, Message: "Resource not found",
		Data: json.RawMessage(inJSON(map[string]string{"uri": address})),
	}
}

// refusedResource puts the contract's refusal about a resource into the protocol's form.
func refusedResource(address string, err error) error {
	refusal := doors.RefusalOf(err)
	switch refusal.Code {
	case codes.NotFound, codes.PermissionDenied, codes.InvalidArgument:
		return errNoResource(address)
	}
	return refusedRequest(refusal)
}

// refusedRequest is the error for a request that is no tool's call. The code is none of those that the library turns into an HTTP
// status, because a stream of events may have begun.
func refusedRequest(refusal doors.Refusal) error {
	return &jsonrpc.Error{
		Code: doors.CodeRefused, Message: refusal.Message,
		Data: json.RawMessage(inJSON(map[string]string{"reason": refusal.Reason})),
	}
}

// addResources lets the protocol's server answer for resources.
func (s *session) addResources(server *sdk.Server) {
	for _, template := range templates {
		server.AddResourceTemplate(template, func(ctx context.Context, request *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			ctx, cancel := s.during(ctx)
			defer cancel()
			return s.readResource(ctx, request.Params)
		})
	}
	server.AddReceivingMiddleware(s.listing)
}

// listing adds what the caller sees to the lists of resources. The library makes them of what is the same for every caller.
func (s *session) listing(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, request sdk.Request) (sdk.Result, error) {
		cursor := ""
		if given, ok := request.GetParams().(*sdk.ListResourcesParams); ok && given != nil {
			cursor, given.Cursor = given.Cursor, "" // the contract's cursor means nothing to the library
		}
		result, err := next(ctx, method, request)
		if err != nil {
			return result, err
		}
		switch listed := result.(type) {
		case *sdk.ListResourceTemplatesResult:
			listed.Cacheable = public
		case *sdk.ListResourcesResult:
			ctx, cancel := s.during(ctx)
			defer cancel()
			return listed, s.listResources(ctx, cursor, listed)
		}
		return result, nil
	}
}
