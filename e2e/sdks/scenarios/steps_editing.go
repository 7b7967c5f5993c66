package scenarios

import (
	openintent "openintent/sdk/go"
)

// stepsOfEditing are the steps that change what a message says.
var stepsOfEditing = map[string]func(s *story, a act, f facts) (any, error){
	"edit": func(s *story, a act, f facts) (any, error) {
		id, err := s.channel(a.who, f.Channel)
		if err != nil {
			return nil, err
		}
		edit := openintent.Edit{Mentions: f.Mentions, Supersede: f.Supersede}
		if f.Payload != nil {
			edit.Payload = f.Payload
		}
		if f.Metadata != nil {
			edit.Metadata = f.Metadata
		}
		if _, given := a.with["subject"]; given {
			edit.Subject = &f.Subject
		}
		return messageResult(s.client(a.who).EditMessage(s.ctx, id, f.Message, edit))
	},
	"delete": onChannel(func(s *story, c *openintent.Client, id string, f facts) (any, error) {
		return messageResult(c.DeleteMessage(s.ctx, id, f.Message))
	}),
	"revisions": onChannel(func(s *story, c *openintent.Client, id string, f facts) (any, error) {
		listed, err := c.ListRevisions(s.ctx, id, f.Message)
		list := make([]any, len(listed))
		for i, r := range listed {
			list[i] = map[string]any{
				"revision": r.Number, "payload": r.Payload, "subject": orNil(r.Subject), "mentions": listOf(r.Mentions),
			}
		}
		return list, err
	}),
}
