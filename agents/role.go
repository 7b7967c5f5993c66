package agents

import (
	"encoding/json"
	"time"

	"openintent/internal/database"
)

// maxAhead bounds how many intents ahead of the clock are noted one by one when an agent takes a role.
const maxAhead = 64

// aheadHook looks at the intents in which a message was sent to a role. It returns those that have their newest place after
// the given time, with the times of these places: no more than the limit, the latest first.
type aheadHook func(tx *database.Tx, roleID string, after time.Time, limit int) (map[int64]time.Time, error)

// OnTakingRole adds a hook that runs in the transaction in which an agent takes a role. It returns the intents in which time
// is ahead of the clock: there, a time of the clock cannot separate the messages sent before from those sent later. Add
// hooks before serving.
func (s *Service) OnTakingRole(fn aheadHook) { s.onTakingRole = append(s.onTakingRole, fn) }

// takeRole notes that the agent holds its role from now on.
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

// noteAhead notes the intents in which the agent holds the role from a later time on. If there are too many, the agent holds
// it everywhere from the latest of these times on.
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

// goesOnWith reports whether an agent that registers again keeps its role and the time since when it has held it. It does if
// the role is the same and the agent was not deregistered in between. A time in the future means that the clock has been set
// back since; such a time is useless, so the agent takes the role anew.
func (a *Agent) goesOnWith(roleID string, now time.Time) bool {
	return a.RoleID == roleID && a.Status != StatusDeregistered && !a.RoleSince.After(now)
}

// RoleSinceIn returns the time after which messages to the role in an intent are for the agent.
func (p Presence) RoleSinceIn(intentNo int64) time.Time {
	if p.roleAhead == "" {
		return p.RoleSince
	}
	var ahead map[int64]int64
	if err := json.Unmarshal([]byte(p.roleAhead), &ahead); err != nil {
		return endOfTime // if the list cannot be read, the agent sees no messages to the role
	}
	if at, found := ahead[intentNo]; found {
		return later(database.Time(at), p.RoleSince)
	}
	return p.RoleSince
}

// endOfTime lies after every message.
var endOfTime = time.Date(9999, time.January, 1, 0, 0, 0, 0, time.UTC)
