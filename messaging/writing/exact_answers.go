package writing

import (
	"openintent/channels"
	"openintent/intents"
	"openintent/internal/database"
	"openintent/messaging/claim"
	"openintent/messaging/message"
)

// A request may take an exact number of answers (message.ExactAnswers). Package claim decides which answers it takes; this file brings
// the rule under the lock of the intent's head. The cache does not decide such answers (optimistic_cache.go): claims change
// without the writer. Answers to other requests cost nothing here.

// readExact reads the answers and the claims of the requests that take an exact number of answers.
func (b *batch) readExact() error {
	claims := make(map[string]map[int64][]*claim.Claim)
	var statements []database.Statement
	for id, m := range b.requests {
		wanted := m.ExactAnswers()
		if wanted == 0 {
			continue
		}
		answers := &claim.Answers{Wanted: wanted, NeedsClaim: m.NeedsClaim(), Closed: !m.Open}
		var ofClaims, ofAnswers database.Statement
		claims[id], ofClaims = claim.Prepare(b.tx, m.IntentNo, []int64{m.Position})
		answers.By, ofAnswers = claim.PrepareAnswerers(m.IntentNo, m.Position)
		if b.exact == nil {
			b.exact = make(map[string]*claim.Answers)
		}
		b.exact[id] = answers
		statements = append(statements, ofClaims, ofAnswers)
	}
	if err := b.tx.Pipeline(statements...); err != nil {
		return err
	}
	for id, answers := range b.exact {
		answers.Claims = claims[id][b.requests[id].Position]
	}
	return nil
}

// refuseInexact refuses a response that its request does not take.
func (b *batch) refuseInexact(d *Draft) error {
	answers := b.exact[d.CorrelationID]
	if answers == nil {
		return nil
	}
	return answers.Refuse(d.Sender, d.fence)
}

// noteAnswer notes what a response that was stored does to its request: it closes the request with the last answer that the request
// takes, and ends the claim of its sender.
func (b *batch) noteAnswer(head *intents.Head, channel *channels.Rules, d *Draft) error {
	request := b.requests[d.CorrelationID]
	if request == nil {
		return nil
	}
	answers := b.exact[d.CorrelationID]
	if answers == nil {
		b.appender.close(request)
		return nil
	}
	ended := answers.Take(d.Sender)
	if answers.Full() {
		b.appender.close(request)
	}
	if ended == nil {
		return nil // it needed no claim
	}
	b.tx.SendWithCommit(claim.Deletion(ended))
	if b.annotated == nil {
		b.annotated = make(map[channels.Key]struct{})
	}
	b.annotated[channel.Key] = struct{}{}
	if ended.Ended != "" {
		return nil // it was announced when it ended
	}
	return Annotate(b.tx, b.hub, head, &message.Annotation{
		ChannelNo: channel.ChannelNo, ChannelID: channel.ID, MessagePosition: request.Position, MessageID: request.ID,
		Type: message.AnnotationClaimEnd, AgentID: d.Sender,
		Details: message.AnnotationDetails{Reason: string(claim.EndedByAnswer), For: []string{d.Sender}},
	})
}
