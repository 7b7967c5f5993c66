package subscriptions

import "context"

// discover finds what only the database knows: subscriptions that were created at other replicas, and posts that are due,
// including those that a dead replica left. It runs two statements, however many subscriptions there are.
func (p *poster) discover(ctx context.Context) error {
	found, due, err := p.service.postedSubscriptions(ctx)
	if err != nil {
		return err
	}
	p.follow(found...)
	for _, no := range due {
		p.woken(no)
	}
	return nil
}
