package agents

import (
	"encoding/json"
	"time"

	"openintent/database"
)

// maxAhead bounds how many intents whose time is ahead of the clock are noted one by one when an agent takes a role.
const maxAhead = 64

// aheadHook gives, of the intents in which a role was addressed, those whose newest place lies after a time, with the times
// of these places: at most as many as asked for, the latest first.
type aheadHook func(tx *database.Tx, roleID string, after time.Time, limit int) (map[int64]time.Time, error)

// OnTakingRole adds what tells, in the transaction in which an agent takes a role, in which intents time is ahead of the
// clock: there a time of the clock would not part what was sent before from what is sent later. Add it before serving.
func (s *Service) OnTakingRole(fn aheadHook) { s.onTakingRole = append(s.onTakingRole, fn) }

// takeRole notes since when the agent holds its role: from now on.
func (s *Service) takeRole(tx *database.Tx, a *Agent, now time.Time) error {
	a.RoleSince, a.roleAhead = time.Time{}, ""
	if a.RoleID == "" {
		return nil
	}
	a.RoleSince = now
	for _, hook := range s.onTakingRole {
		ahead, err := hook(tx, a.RoleID, now, maxAhead+1)
		if err != nil {
			return err
		}
		a.noteAhead(ahead)
	}
	return nil
}

// noteAhead notes the intents in which the role is held from a later time on. When they are too many, it is the latest of
// these times everywhere.
func (a *Agent) noteAhead(ahead map[int64]time.Time) {
	places := make(map[int64]int64, len(ahead))
	for intentNo, at := range ahead {
		places[intentNo] = database.Micros(at)
		if len(ahead) > maxAhead {
			a.RoleSince = later(at, a.RoleSince)
		}
	}
	if len(ahead) == 0 || len(ahead) > maxAhead {
		return
	}
	text, _ := json.Marshal(places) // numbers alone never fail
	a.roleAhead = string(text)
}

// goesOnWith tells whether an agent that registers again, with a role, goes on holding it, with the time since when it does:
// the role is the same, and it was not deregistered in between. A time in the future is one that a clock gave which has gone
// back since; it tells nothing, and holding begins anew.
func (a *Agent) goesOnWith(roleID string, now time.Time) bool {
	return a.RoleID == roleID && a.Status != StatusDeregistered && !a.RoleSince.After(now)
}

// RoleSinceIn gives the time after which messages of an intent were sent that were for the role while the agent held it.
func (p Presence) RoleSinceIn(intentNo int64) time.Time {
	if p.roleAhead == "" {
		return p.RoleSince
	}
	var ahead map[int64]int64
	if err := json.Unmarshal([]byte(p.roleAhead), &ahead); err != nil {
		return endOfTime // what cannot be read shows nothing
	}
	if at, found := ahead[intentNo]; found {
		return later(database.Time(at), p.RoleSince)
	}
	return p.RoleSince
}

// endOfTime lies after whatever is sent.
var endOfTime = time.Date(9999, time.January, 1, 0, 0, 0, 0, time.UTC)
