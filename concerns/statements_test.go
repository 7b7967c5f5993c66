package concerns

import (
	"context"
	"sync"

	"openintent/internal/database"
)

// seenStatements notes the texts of statements while it listens, and counts the rows that they give.
type seenStatements struct {
	mutex  sync.Mutex
	listen bool
	texts  []string
	rows   int
}

func (s *seenStatements) hooks() database.Hooks {
	return database.Hooks{Statement: func(_ context.Context, text string) func() {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		if !s.listen {
			return nil
		}
		s.texts = append(s.texts, text)
		return func() {
			s.mutex.Lock()
			s.rows++
			s.mutex.Unlock()
		}
	}}
}

// during returns the statements that something runs, and how many rows they give.
func (s *seenStatements) during(do func()) (texts []string, rows int) {
	s.mutex.Lock()
	s.listen, s.texts, s.rows = true, nil, 0
	s.mutex.Unlock()
	do()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.listen = false
	return s.texts, s.rows
}
