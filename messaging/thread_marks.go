package messaging

import (
	"slices"

	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/pages"
	"openintent/messaging/claim"
	"openintent/messaging/message"
	"openintent/messaging/reaction"
	"openintent/messaging/reading"
)

// reactionsToOne is how many reactions to one message a thread shows at most.
const reactionsToOne = 100

// readMarks reads what others have left on the page's messages. A page with many messages shows fewer reactions to each, so that it
// never has more of them than a list.
func (t *thread) readMarks(tx *database.Tx, l reading.Snapshot, viewer message.Viewer) (err error) {
	shown := t.shown()
	if len(shown) > 0 {
		if t.reactions, err = reaction.ToEach(tx, shown, max(1, min(reactionsToOne, pages.MaxEntries/len(shown)))); err != nil {
			return err
		}
	}
	if t.root != nil {
		t.claim, err = claimShown(tx, l, t.root, viewer.Agent)
	}
	return err
}

// claimShown returns the claim on a message that an agent is shown: its own, or else the one that ends last; nil for none.
func claimShown(tx *database.Tx, l reading.Snapshot, m *message.Message, agent string) (shown *claim.Claim, err error) {
	claims, err := claim.Of(tx, m.IntentNo, m.Position)
	if err != nil {
		return nil, err
	}
	standing := l.SituationOf(m).Standing(claims[m.Position])
	if own := slices.IndexFunc(standing, func(c *claim.Claim) bool { return c.AgentID == agent }); own >= 0 {
		return standing[own], nil
	}
	for _, c := range standing {
		if shown == nil || c.ExpiresAt.After(shown.ExpiresAt) {
			shown = c
		}
	}
	return shown, nil
}

// fillMarks puts the reactions and the claim into the thread as clients see it.
func (t thread) fillMarks(wire *openintentv1.Thread) {
	ids := make(map[int64]string)
	for _, m := range t.shown() {
		ids[m.Position] = m.ID
	}
	for _, one := range t.reactions {
		wire.Reactions = append(wire.Reactions, one.InThread(ids[one.MessagePosition]))
	}
	if t.claim != nil {
		wire.Claim = &openintentv1.ThreadClaim{Holder: t.claim.AgentID, ExpiresAt: timestamppb.New(t.claim.ExpiresAt)}
	}
}
