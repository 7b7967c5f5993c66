package mcp

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
)

const (
	// resourcesShown is how many intents a page of the list has.
	resourcesShown = 20
	// listedTitleRoom is how many bytes of a title a list shows.
	listedTitleRoom = 120
)

// Who may keep an answer: its caller alone, or everybody.
var (
	private = sdk.Cacheable{CacheScope: "private"}
	public  = sdk.Cacheable{CacheScope: "public"}
)

// listResources adds a page of the caller's intents to an answer. The first page begins with its inbox. Channels are found through
// their intents.
func (s *session) listResources(ctx context.Context, cursor string, answer *sdk.ListResourcesResult) error {
	request := &openintentv1.ListIntentsRequest{Limit: new(int32(resourcesShown))}
	answer.Cacheable = private
	if cursor != "" {
		request.Cursor, answer.Resources = &cursor, []*sdk.Resource{}
	} else {
		answer.Resources = append(answer.Resources, &sdk.Resource{
			URI: resource{inboxResource, s.caller.Agent}.address(), Name: "inbox", Title: "What waits for you", MIMEType: mimeType,
		})
	}
	page, err := s.caller.Intents.ListIntents(ctx, request)
	if err != nil {
		return refusedRequest(doors.RefusalOf(err))
	}
	answer.NextCursor = page.GetNextCursor()
	for _, intent := range page.GetIntents() {
		answer.Resources = append(answer.Resources, &sdk.Resource{
			URI: resource{intentResource, intent.GetId()}.address(), Name: "intent " + intent.GetId(),
			Title: doors.Beginning(intent.GetTitle(), listedTitleRoom), MIMEType: mimeType,
		})
	}
	return nil
}
