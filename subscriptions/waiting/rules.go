package waiting

import "time"

// What a server lets wait. A subscription chooses its own time and length of digests.
const (
	// Silence is how long a sender must be silent in a channel or thread until what it wrote there is delivered, and Longest is how long
	// its first message waits at most.
	Silence = 3 * time.Second
	Longest = 30 * time.Second
	// MaxChars is how many characters a digest has at most unless its subscription says otherwise.
	MaxChars = 2000
)

const (
	// maxComposed and maxComposedBytes bound what is delivered together.
	maxComposed      = 10
	maxComposedBytes = 1 << 20
	// maxDigested bounds how many messages one digest sums up.
	maxDigested = 500
	// clockSkew is how far the clocks of two replicas may differ.
	clockSkew = time.Second
)

// Rules say what waits, and for how long.
type Rules struct {
	// Silence is how long a sender must be silent, and Longest how long its first message waits at most. Without Silence nothing waits for
	// its sender.
	Silence, Longest time.Duration
	// Digest is for how long digests gather; 0 for no digests. MaxChars is how many characters they have at most.
	Digest   time.Duration
	MaxChars int
}
