package repomesh

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// tick is how often a test looks again.
const tick = 20 * time.Millisecond

func TestALockHasOneHolder(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann, ben := h.agent("ann"), h.agent("ben")
		lock := ann.does(t, "POST", "/locks/acquire", object{"resource_key": "src/auth.py", "ttl": 60})
		require.Equal(t, []any{"ann", "src/auth.py", "active", 60.0, true},
			[]any{lock["agent_id"], lock["resource_key"], lock["state"], lock["ttl_seconds"], lock["auto_release"]})
		for tries := range 6 {
			said := ben.refused(t, 409, "POST", "/locks/acquire", object{"resource_key": "src/auth.py", "retry_count": tries})
			require.Equal(t, []any{"LOCK_CONFLICT", "lock.acquire", float64(tries)}, []any{said["error_code"], said["original_action"], said["retry_count"]})
			if tries < 5 {
				require.EqualValues(t, 1000, said["retry_after_ms"])
			} else {
				require.Nil(t, said["retry_after_ms"], "there were enough tries")
			}
		}
		again := ann.does(t, "POST", "/locks/acquire", object{"resource_key": "src/auth.py", "ttl": 90})
		require.Equal(t, lock["lock_id"], again["lock_id"])
		id := lock["lock_id"].(string)
		require.EqualValues(t, 120, ann.does(t, "POST", "/locks/"+id+"/renew", object{"agent_id": "ann", "ttl": 120})["ttl_seconds"])
		require.Equal(t, "NOT_FOUND", ben.refused(t, 404, "POST", "/locks/"+id+"/renew", object{})["error_code"])
		require.Equal(t, "NOT_FOUND", ben.refused(t, 404, "POST", "/locks/"+id+"/release", object{})["error_code"])
		require.Equal(t, "PERMISSION_DENIED", ben.refused(t, 403, "POST", "/locks/"+id+"/release", object{"agent_id": "ann"})["error_code"])
		require.Equal(t, "released", ann.does(t, "POST", "/locks/"+id+"/release", nil)["state"])
		require.Equal(t, "ben", ben.does(t, "POST", "/locks/acquire", object{"resource_key": "src/auth.py"})["agent_id"])
		require.Empty(t, h.agent("cleo").events(t, "/events/inbox"), "nothing for her to do")
		told := h.agent("cleo").events(t, "/events?direction=asc")
		require.Equal(t, []string{"lock.acquired", "lock.released", "lock.acquired"}, types(told))
		require.Equal(t, []any{"ann", "src/auth.py", id, true},
			[]any{payload(told[1])["agent_id"], payload(told[1])["resource_key"], payload(told[1])["lock_id"], told[1]["system"]})
	})
}

func types(events []object) (all []string) {
	for _, e := range events {
		all = append(all, e["type"].(string))
	}
	return all
}

// Nobody asks for the lock again, and no agent is there that could tell of its end.
func TestAnExpiredLockIsTold(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann, ben := h.agent("ann"), h.agent("ben")
		lock := ann.does(t, "POST", "/locks/acquire", object{"resource_key": "src/auth.py", "ttl": 60})
		lock = ann.does(t, "POST", "/locks/"+lock["lock_id"].(string)+"/renew", object{"ttl": 90})
		require.EqualValues(t, 60, payload(ben.events(t, "/events?type=lock.acquired")[0])["ttl"])
		h.advance(2 * time.Minute)
		require.Eventually(t, func() bool { return len(ben.events(t, "/events/inbox?type=lock.auto_released")) == 1 }, harness.Patience, tick)
		told := ben.events(t, "/events/inbox?type=lock.auto_released")[0]
		require.Equal(t, []any{lock["lock_id"], "ann", "expired", "src/auth.py"},
			[]any{payload(told)["lock_id"], payload(told)["agent_id"], payload(told)["reason"], payload(told)["resource_key"]})
		require.Equal(t, lock["last_heartbeat"], payload(told)["last_heartbeat"])
		holder := typed(ann.events(t, "/events/inbox"), "agent.chat")
		require.Len(t, holder, 1)
		require.Nil(t, holder[0]["agent_id"])
		require.Equal(t, "Your lock of src/auth.py has ended: expired.", payload(holder[0])["content"])
		require.Empty(t, typed(ben.events(t, "/events/inbox"), "agent.chat"))
		require.Equal(t, "ben", ben.does(t, "POST", "/locks/acquire", object{"resource_key": "src/auth.py"})["agent_id"])
		require.NoError(t, h.Stop())
		h.Start(t)
		require.Len(t, ben.events(t, "/events/inbox?type=lock.auto_released"), 1)
	})
}

func TestWhoStopsLosesItsLocks(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann, ben := h.agent("ann"), h.agent("ben")
		ann.does(t, "POST", "/agents/register", object{"name": "ann", "type": "cli", "capabilities": object{"tests": true}})
		ann.does(t, "POST", "/locks/acquire", object{"resource_key": "a"})
		require.Equal(t, "dead", ann.does(t, "POST", "/agents/ann/heartbeat", object{"status": "inactive"})["status"])
		require.Eventually(t, func() bool { return len(ben.events(t, "/events/inbox?type=lock.auto_released")) == 1 }, harness.Patience, tick)
		require.Equal(t, "active", ann.does(t, "POST", "/agents/ann/heartbeat", object{"status": "busy", "current_task": "x"})["status"])
	})
}
