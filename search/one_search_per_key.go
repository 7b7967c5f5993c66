package search

import "context"

// searches are those of one key that are under way. One of them runs at a time. So a key that searches without end has at most one of the
// connections for heavy reads, and about one processor, however many callers use it.
type searches struct {
	count   int
	running chan struct{} // has one place
}

// enter admits a search of a key, unless the key has too many. Whoever has entered leaves.
func (s *Service) enter(keyID string) (*searches, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	of := s.underWay[keyID]
	if of == nil {
		of = &searches{running: make(chan struct{}, 1)}
		s.underWay[keyID] = of
	}
	if of.count >= mostEach {
		return nil, errTooMany
	}
	of.count++
	return of, nil
}

func (s *Service) leave(keyID string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	of := s.underWay[keyID]
	if of.count--; of.count == 0 {
		delete(s.underWay, keyID)
	}
}

// inTurn runs a search when those of its key that came before have run.
func (of *searches) inTurn(ctx context.Context, run func() error) error {
	select {
	case of.running <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-of.running }()
	return run()
}
