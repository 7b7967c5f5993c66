package subscriptions

import (
	"context"
	"time"
)

const (
	// besideEvery is how often a replica looks whether programs of release 0.1 work on the database, too. It also looks whenever
	// another replica begins to listen to notifications.
	besideEvery = 500 * time.Millisecond
	// besidePatience bounds the first look.
	besidePatience = 5 * time.Second
)

// lookBeside finds out whether programs of release 0.1 work on the database, too. They do not know that a stream sends deliveries before
// they are stored: they refuse the acknowledgement of such a delivery, and would give its number again. So nobody sends ahead while they
// are there, and what was sent ahead before is stored at once.
func (s *Service) lookBeside(ctx context.Context) error {
	found, err := s.db.BesideFirstRelease(ctx)
	if err == nil && found != s.beside.Swap(found) && found {
		s.logger.Info("a program of release 0.1 works on the database, too; subscriptions store each delivery before they send it")
		s.settler.hurry()
	}
	return err
}

// stayBehind ends sending ahead while programs of release 0.1 are there.
func (st *deliveryStream) stayBehind(ctx context.Context) {
	if st.ledger != nil && st.service.beside.Load() {
		st.careful = !st.stopAhead(ctx) || st.careful
	}
}
