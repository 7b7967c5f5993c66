package posting

import "context"

// Discover finds what only the database knows: subscriptions that were created at other replicas, and posts that are due,
// including those that a dead replica left. It runs two statements, however many subscriptions there are.
func (p *Poster) Discover(ctx context.Context) error {
	found, due, err := p.postedSubscriptions(ctx)
	if err != nil {
		return err
	}
	p.followAll(found...)
	for _, no := range due {
		p.woken(no)
	}
	return nil
}
