package concerns

import (
	"cmp"
	"context"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/pages"
)

const (
	// listOfConcerns names the list in its cursors, and mostOnAPage is how many concerns a page has, unless the call wants fewer.
	listOfConcerns = "concerns"
	mostOnAPage    = 100
	// rowsAtMost bounds how many rows one page reads, and judgedAtMost of how many of these it judges whether they are concerns.
	rowsAtMost   = 10_000
	judgedAtMost = 2_000
)

// wanted is what a call wants to see.
type wanted struct {
	by caller.Caller
	// The filters are zero or empty where there are none.
	kind            openintentv1.ConcernKind
	intentID, agent string
	after           place
	limit           int
}

// ListConcerns lists what needs the caller, the oldest first.
func (s *Service) ListConcerns(ctx context.Context, req *openintentv1.ListConcernsRequest) (*openintentv1.ListConcernsResponse, error) {
	c, err := caller.Known(ctx)
	if err != nil {
		return nil, err
	}
	w := wanted{by: c, kind: req.GetKind(), intentID: req.GetIntentId(), agent: req.GetAgentId()}
	if err := cmp.Or(caller.CheckText("intent_id", w.intentID), caller.CheckText("agent_id", w.agent)); err != nil {
		return nil, err
	}
	p := &w.after
	listed, err := pages.Begin(listOfConcerns, req, mostOnAPage, &p.since, &p.kind, &p.major, &p.minor, &p.text, &p.more)
	if err != nil {
		return nil, err
	}
	w.limit = min(listed.Limit(), mostOnAPage)
	var found *page
	err = s.db.ReadHeavy(ctx, c.Reader(), func(tx *database.Tx) (err error) {
		found, err = s.look(tx, w)
		return err
	})
	if err != nil {
		return nil, err
	}
	return found.toWire(), nil
}

// page is what a call has found.
type page struct {
	concerns []*concern
	// next is the place after which the list goes on; nil if it ends with the page.
	next *place
}

func (p *page) toWire() *openintentv1.ListConcernsResponse {
	answer := &openintentv1.ListConcernsResponse{}
	for _, one := range p.concerns {
		answer.Concerns = append(answer.Concerns, one.toWire())
	}
	if p.next != nil {
		cursor := pages.Cursor(listOfConcerns, p.next.since, p.next.kind, p.next.major, p.next.minor, p.next.text, p.next.more)
		answer.NextCursor = &cursor
	}
	return answer
}
