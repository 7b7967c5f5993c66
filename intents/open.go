package intents

import (
	"context"
	"fmt"
	"strings"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
)

const (
	// mostNamed is how many intents of one title a refusal names.
	mostNamed = 10
	// titleKey is the column of the index of titles, which has their first characters.
	titleKey, titleKeyLength = "substr(t.title, 1, 200)", 200
)

// OpenIntent finds the intent of a title, or makes it. Calls with the same title run one after the other, so that all of them get the same
// intent.
func (s *Service) OpenIntent(ctx context.Context, req *openintentv1.OpenIntentRequest) (*openintentv1.OpenIntentResponse, error) {
	active := openintentv1.IntentStatus_INTENT_STATUS_ACTIVE
	draft, err := intentDraft(&openintentv1.CreateIntentRequest{Title: req.GetTitle(), Description: req.Description, Status: &active})
	if err != nil {
		return nil, err
	}
	var opened *Intent
	var made bool
	err = s.write(ctx, func(tx *database.Tx, c caller.Caller) error {
		if err := tx.Alone("title " + draft.Title); err != nil {
			return err
		}
		found, err := s.titled(tx, s.readerFor(c, tx.Now()), draft.Title)
		switch {
		case err != nil:
			return err
		case len(found) > 1:
			return severalIntents(found)
		case len(found) == 1:
			opened, made = found[0], false
			return nil
		}
		created := draft
		created.CreatedBy = c.Agent
		opened, made = &created, true
		return s.create(tx, c, &created, policyWords[req.GetDefaultPolicy()])
	})
	if err != nil {
		return nil, err
	}
	answer, err := intentMessage(opened)
	return &openintentv1.OpenIntentResponse{Intent: answer, Created: made}, err
}

// titled returns the intents of a title that the reader means, the newest first. These are the ones that have not ended and to which the reader
// is related. If there are none, they are the active ones that it may read, and then all others that it may read and that have not ended. It
// looks at the newest ones of the title, as many as a list looks at. It returns at most one more than a refusal names.
func (s *Service) titled(tx *database.Tx, r reader, title string) (found []*Intent, err error) {
	related, relatedArgs := r.isRelated()
	readable, readableArgs := r.mayRead()
	for _, tried := range []struct {
		condition string
		args      []any
	}{
		{" AND h.status NOT IN ('completed', 'abandoned') AND " + related, relatedArgs},
		{" AND h.status = 'active'" + readable, readableArgs},
		{" AND h.status NOT IN ('completed', 'abandoned')" + readable, readableArgs},
	} {
		start := title
		if runes := []rune(title); len(runes) > titleKeyLength {
			start = string(runes[:titleKeyLength])
		}
		args := append([]any{start, title, s.looking.candidates}, tried.args...)
		found, err = selectIntents(tx, " WHERE i.intent_no IN (SELECT t.intent_no FROM intents AS t WHERE "+titleKey+" = ? AND t.title = ?"+
			" ORDER BY t.intent_no DESC LIMIT ?)"+tried.condition+" ORDER BY i.intent_no DESC LIMIT ?", append(args, mostNamed+1)...)
		if err != nil || len(found) > 0 {
			return found, err
		}
	}
	return nil, nil
}

// severalIntents refuses to choose among intents of one title.
func severalIntents(found []*Intent) error {
	number := fmt.Sprint(len(found))
	if len(found) > mostNamed {
		found, number = found[:mostNamed], fmt.Sprintf("more than %d", mostNamed)
	}
	var ids, creators, named []string
	for _, intent := range found {
		ids, creators = append(ids, intent.ID), append(creators, intent.CreatedBy)
		named = append(named, intent.ID+" by "+intent.CreatedBy)
	}
	return fault.New(fault.AlreadyExists, "SEVERAL_INTENTS",
		"There are %s intents of this title (%s); name the one that you mean by its id, end the others, or take another title.",
		number, strings.Join(named, ", ")).
		With("intent_ids", strings.Join(ids, " ")).With("creators", strings.Join(creators, " "))
}
