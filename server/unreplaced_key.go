package server

import (
	"log/slog"
	"regexp"
	"sync/atomic"
	"time"

	"openintent/internal/fault"
)

// errKeyUnreplaced is errKeyUnknown for what is no key, but how a configuration names a variable that holds one. Several harnesses send such
// a name as it stands.
var errKeyUnreplaced = fault.New(fault.Unauthenticated, "API_KEY_UNKNOWN",
	"The API key that was sent is the name of a variable and not its value: the client does not replace variables in this place, or the variable "+
		"is not set where the client runs. Set it there, or see what the client takes in the place of the key.")

// variable is how configurations name a variable: ${NAME}, ${env:NAME}, ${{ NAME }}, $NAME, $env:NAME, {env:NAME}, {{NAME}} and %NAME%.
var variable = regexp.MustCompile(`^(\$?\{+ *[\w:. -]+ *\}+|\$[A-Za-z_][\w:.]*|%[\w:. -]+%)$`)

// unreplacedEvery is how often the log says that keys are names of variables.
const unreplacedEvery = time.Minute

// unreplacedKeys tells unknown keys from the names of variables, and the log of these. It never shows what was sent.
type unreplacedKeys struct {
	logger *slog.Logger
	now    func() time.Time
	told   atomic.Int64
}

// refusal returns why an unknown key is refused.
func (u *unreplacedKeys) refusal(presented string) error {
	if !variable.MatchString(presented) {
		return errKeyUnknown
	}
	if u != nil {
		now, told := u.now(), u.told.Load()
		if now.Sub(time.Unix(0, told)) >= unreplacedEvery && u.told.CompareAndSwap(told, now.UnixNano()) {
			u.logger.Warn("a client sends the name of a variable in place of its API key; it has not replaced it by the value")
		}
	}
	return errKeyUnreplaced
}
