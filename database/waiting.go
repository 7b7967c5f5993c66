package database

// Transactions that wait for a lock keep a connection each. Were all of them to wait for locks that one frozen process
// holds, nobody else could write. So half of the connections may wait; a transaction that finds no place among these takes
// its locks at once or gives its connection back, and Write tries it again.
const waitingPatience = writeAttempts * lockPatience

// waitingPlaces are as many as transactions may wait for locks.
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

// ForUpdateInTurn is ForUpdate for rows that others may keep locked for long, in the transaction's next Pipeline. It waits
// for their locks unless too many transactions do; then the statement fails with a conflict, and Write tries again.
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

// endWaiting gives the transaction's place among those that wait to others.
func (tx *Tx) endWaiting() {
	if tx.waiting != nil {
		tx.waiting.leave()
		tx.waiting = nil
	}
}
