package contacts

import (
	"context"
	"net/http"

	"openintent/internal/webhooks"
)

// send sends words to a contact, and returns how that went. id is the same for each attempt to send the same.
func (s *Service) send(ctx context.Context, to *contact, id string, w words) webhooks.Result {
	switch to.kind {
	case webhook:
		return s.post(ctx, to.address, id, w.whole(), http.Header{"Content-Type": {"application/json"}, "Webhook-Id": {id}})
	case ntfy:
		headers := http.Header{"Content-Type": {"text/plain; charset=utf-8"}, "Title": {w.Title}}
		if w.Link != "" {
			headers.Set("Click", w.Link)
		}
		return s.post(ctx, to.address, id, []byte(w.Text), headers)
	case slack:
		return s.post(ctx, to.address, id, w.forSlack(), http.Header{"Content-Type": {"application/json"}})
	case mail:
		return s.Mail.send(ctx, to.address, id, w)
	case webPush:
		return s.push(ctx, to, id, w)
	}
	return webhooks.Result{Problem: "This server does not know the kind of the contact."}
}

func (s *Service) post(ctx context.Context, url, id string, body []byte, headers http.Header) webhooks.Result {
	return s.Webhooks.Post(ctx, webhooks.Request{
		URL: url, ID: id, Header: headers, Body: func(context.Context) []byte { return body },
	})
}
