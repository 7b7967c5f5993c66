package intents

import (
	lru "github.com/hashicorp/golang-lru/v2"

	"openintent/internal/database"
)

// EpochCache keeps values that were read about intents as of an epoch, one value per key. It keeps a value for all
// transactions, or only for the transaction that raised the epoch, until that raises it again. A value must not depend on
// anything that changes without raising the epoch. An epoch names one change of one history of the database (see
// database.Further), so after the database has lost commits, the cache never returns a value from before the loss.
type EpochCache[K comparable, V any] struct {
	shared *lru.Cache[K, asOf[V]]
}

// asOf is a value with the epoch that it belongs to.
type asOf[V any] struct {
	epoch int64
	value V
}

// NewEpochCache makes a cache for a positive number of values; a value that falls out is read again.
func NewEpochCache[K comparable, V any](size int) *EpochCache[K, V] {
	return &EpochCache[K, V]{shared: newCache[K, asOf[V]](size)}
}

// Get returns the cached value for a key of an intent as of an epoch, which the transaction has read from the head.
func (c *EpochCache[K, V]) Get(tx *database.Tx, intentNo, epoch int64, key K) (value V, ok bool) {
	if own := c.own(tx, intentNo); own.epoch == epoch {
		if value, ok = own.value[key]; ok {
			return value, true
		}
	}
	return c.Kept(epoch, key)
}

// Kept returns the value that is cached for all transactions, for a key as of an epoch.
func (c *EpochCache[K, V]) Kept(epoch int64, key K) (value V, ok bool) {
	kept, ok := c.shared.Get(key)
	if !ok || kept.epoch != epoch {
		return value, false
	}
	return kept.value, true
}

// Add caches a value that the transaction has read, if the value certainly belongs to the epoch:
//
//   - It caches nothing if the transaction neither reads one snapshot nor holds the head, because a change may have come in
//     between.
//   - It caches the value for the transaction alone if the transaction has raised the epoch, because it may roll back.
//   - Otherwise it caches the value for all transactions, in place of the former one. The greater of two epochs need not be the
//     newer, because it may belong to a lost history. So a slow reader may displace a newer value; the next reader reads that
//     again.
func (c *EpochCache[K, V]) Add(tx *database.Tx, intentNo, epoch int64, key K, value V) {
	head := lockedBy(tx).Get(intentNo)
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

// ownKey is the key under which a transaction keeps the values of an intent whose epoch it has raised.
type ownKey[K comparable, V any] struct {
	cache    *EpochCache[K, V]
	intentNo int64
}

func (c *EpochCache[K, V]) own(tx *database.Tx, intentNo int64) asOf[map[K]V] {
	own, _ := tx.Local(ownKey[K, V]{c, intentNo}).(asOf[map[K]V])
	return own
}
