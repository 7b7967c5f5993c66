package database

import (
	"math"
	"math/rand/v2"
)

// A database can lose commits: a standby that lags takes over, or a backup is restored. The commits after that belong to
// another history, which shares its beginning with the lost one and continues with the same counters. A process that runs
// through this still remembers the lost history. With plain counters, two things would have the same number, and the process
// would mistake what it remembers of one for the other.
//
// So every number by which something is remembered has a count in its high bits and randomBits random bits below. Another
// history does not produce the same number again.

const randomBits = 32

// Further returns a number that follows the given one: it is greater and has new random bits. The given number may be from
// before numbers had random bits. After 2^31 numbers the count begins again.
func Further(number int64) int64 {
	count := number>>randomBits + 1
	if count > math.MaxInt64>>randomBits {
		count = 1
	}
	return count<<randomBits | int64(rand.Uint32())
}

// Tag draws a random number that identifies one state of a row: a row with the same tag has not changed, and is of the same
// history. The tag is never 0, which stands for a row that was never tagged.
func Tag() int64 { return 1 + rand.Int64N(math.MaxInt64) }
