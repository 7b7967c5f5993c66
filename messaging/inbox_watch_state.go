package messaging

import "context"

// look notes whether the inbox may differ. Nothing enters an inbox by the passing of time, except what is to be handed over again, which the
// slow timer finds. So it may when the agent's record or rules have changed, when an intent begins to reach the agent, when commits were lost,
// and when a message was stored that is addressed to the agent or to everyone. What others say to each other does not change it.
func (w *inboxWatch) look(ctx context.Context) error {
	found, err := w.watch.Look(ctx)
	if err != nil {
		return err
	}
	w.differs = w.differs || found.All
	for _, move := range found.Intents {
		w.differs = w.differs || move.Ruled || move.Addressed
	}
	return nil
}
