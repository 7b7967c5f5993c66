package database

import "openintent/internal/fault"

// Outcome says what became of a transaction that stores together what several callers want, and so what each of them does next.
type Outcome int

const (
	// Stored says that everything is stored.
	Stored Outcome = iota
	// Contended says that nothing is stored, because of other transactions that were under way. The same may succeed in a moment.
	Contended
	// Uncertain says that the commit was not acknowledged, so everything is stored or nothing. Whoever tries again looks first what is stored.
	Uncertain
	// Away says that nothing is stored, because the database was not available.
	Away
	// Spoiled says that nothing is stored, because of what one of several wants. Each needs a transaction of its own.
	Spoiled
	// Refused says that nothing is stored, and the same transaction would fail again.
	Refused
	// Panicked says that the code failed. Nobody knows whether that was before the commit or after it.
	Panicked
)

// Together runs a transaction that stores what so many callers want, and says what became of it. If the outcome is not Stored, err says why.
// A panic becomes an error: nobody else recovers on the goroutine of whoever stores for others.
func Together(members int, write func() error) (_ Outcome, err error) {
	err = recovered(write)
	return outcomeOf(err, members), err
}

func recovered(write func() error) (err error) {
	defer fault.Recover(&err)
	return write()
}

func outcomeOf(err error, members int) Outcome {
	switch {
	case err == nil:
		return Stored
	case fault.IsPanic(err):
		return Panicked
	case IsCommitUnknown(err):
		return Uncertain
	case IsConflict(err):
		return Contended
	case IsUnavailable(err) || isEnded(err):
		return Away
	case members > 1:
		return Spoiled
	}
	return Refused
}
