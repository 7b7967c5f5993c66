package database

// waitingPatience is how long Write keeps trying a transaction that finds no place to wait for locks.
//
// A transaction that waits for a lock occupies a connection. If all transactions waited for the locks of one frozen process,
// nobody else could write. So only half of the connections may wait. A transaction that finds no place among these either gets
// its locks immediately or gives its connection back, and Write tries it again.
const waitingPatience = writeAttempts * lockPatience

// waitingPlaces has one place for each transaction that may wait for locks.
type waitingPlaces chan struct{}

func newWaitingPlaces(connections int) waitingPlaces {
	return make(waitingPlaces, max(1, connections/2))
}

func (p waitingPlaces) enter() bool {
	select {
	case p <- struct{}{}:
		return true
	default:
		return false
	}
}

func (p waitingPlaces) leave() { <-p }

// ForUpdateInTurn is ForUpdate for rows that other transactions may keep locked for long, in the transaction's next Pipeline.
// The statement waits for the locks unless too many transactions already wait. In that case it fails with a conflict, and Write
// tries again.
func (tx *Tx) ForUpdateInTurn() string {
	places := tx.db.dialect.waitingPlaces()
	if places == nil || tx.waiting != nil {
		return tx.ForUpdate()
	}
	if !places.enter() {
		tx.impatient = true
		return tx.ForUpdateNoWait()
	}
	tx.waiting = places
	return tx.ForUpdate()
}

// endWaiting gives up the transaction's place among the waiting ones.
func (tx *Tx) endWaiting() {
	if tx.waiting != nil {
		tx.waiting.leave()
		tx.waiting = nil
	}
}
