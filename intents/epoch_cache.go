package intents

import (
	lru "github.com/hashicorp/golang-lru/v2"

	"openintent/database"
)

// EpochCache keeps what was read about intents as of an epoch, one value for each key: for all transactions, or for the
// one that raised the epoch, until it raises it again. What is kept must not depend on anything that changes without
// raising the epoch. An epoch names one change of one history of the database (see database.Further), so a value that was
// kept before the database lost commits is never given for what it holds since.
type EpochCache[K comparable, V any] struct {
	shared *lru.Cache[K, asOf[V]]
}

// asOf is a value with the epoch that it belongs to.
type asOf[V any] struct {
	epoch int64
	value V
}

// NewEpochCache makes a cache of a positive number of values; what falls out is read again.
func NewEpochCache[K comparable, V any](size int) *EpochCache[K, V] {
	return &EpochCache[K, V]{shared: newCache[K, asOf[V]](size)}
}

// Get gives the value that is kept for a key of an intent as of an epoch, which the transaction has read from the head.
func (c *EpochCache[K, V]) Get(tx *database.Tx, intentNo, epoch int64, key K) (value V, ok bool) {
	if own := c.own(tx, intentNo); own.epoch == epoch {
		if value, ok = own.value[key]; ok {
			return value, true
		}
	}
	return c.Kept(epoch, key)
}

// Kept gives the value that is kept for a key as of an epoch for all transactions.
func (c *EpochCache[K, V]) Kept(epoch int64, key K) (value V, ok bool) {
	kept, ok := c.shared.Get(key)
	if !ok || kept.epoch != epoch {
		return value, false
	}
	return kept.value, true
}

// Add keeps a value that the transaction has read, as far as it is certain to belong to the epoch:
//
//   - not if the transaction neither reads one snapshot nor holds the head: a change may have come in between;
//   - for the transaction alone if it has raised the epoch: it may roll back, and then nobody asks for it;
//   - else for all, instead of what was kept before. Epochs do not tell which of two is newer, because the greater one may
//     be of a history that is lost. A slow reader may so displace a newer value, which the next one reads again.
func (c *EpochCache[K, V]) Add(tx *database.Tx, intentNo, epoch int64, key K, value V) {
	head := heldBy(tx).Get(intentNo)
	switch {
	case head == nil && !tx.Snapshot():
	case head != nil && head.raised:
		own := c.own(tx, intentNo)
		if own.value == nil || own.epoch != epoch {
			own = asOf[map[K]V]{epoch: epoch, value: make(map[K]V)}
			tx.SetLocal(ownKey[K, V]{c, intentNo}, own)
		}
		own.value[key] = value
	default:
		c.shared.Add(key, asOf[V]{epoch, value})
	}
}

// ownKey is where a transaction keeps what it has read of an intent whose epoch it raised.
type ownKey[K comparable, V any] struct {
	cache    *EpochCache[K, V]
	intentNo int64
}

func (c *EpochCache[K, V]) own(tx *database.Tx, intentNo int64) asOf[map[K]V] {
	own, _ := tx.Local(ownKey[K, V]{c, intentNo}).(asOf[map[K]V])
	return own
}
