package keys

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
)

// write runs changes in a transaction.
func (h *house) write(t *testing.T, change func(tx *database.Tx) error) error {
	t.Helper()
	return h.db.Write(t.Context(), change)
}

// under is ann, who calls with a key.
func under(keyID string) caller.Caller { return caller.Caller{Agent: "ann", KeyID: keyID} }

// invite makes an invite into a channel with so many places under a key.
func (h *house) invite(t *testing.T, keyID string, places int, expected ...string) (made *Key, err error) {
	t.Helper()
	err = h.write(t, func(tx *database.Tx) (err error) {
		made, _, err = IssueInvite(tx, InviteDraft{Label: "x", Invite: Invite{
			ChannelID: "c", IntentNo: 1, MaxAgents: places, Expected: expected, By: "ann", ByKey: keyID,
		}}, under(keyID))
		return err
	})
	return made, err
}

func TestInvitesNeedRoomForTheirGuests(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		_, err := h.invite(t, "first", maxGuestsOfKey+1)
		requireFault(t, err, fault.Quota, "TOO_MANY_INVITES")
		full, err := h.invite(t, "first", maxGuestsOfKey)
		require.NoError(t, err)
		_, err = h.invite(t, "first", 1)
		requireFault(t, err, fault.Quota, "TOO_MANY_INVITES")
		for n := range maxGuests/maxGuestsOfKey - 2 {
			_, err := h.invite(t, fmt.Sprint("other ", n), maxGuestsOfKey)
			require.NoError(t, err)
		}
		_, err = h.invite(t, "last", maxGuestsOfKey-1)
		require.NoError(t, err)
		_, err = h.invite(t, "too late", 2)
		requireFault(t, err, fault.Quota, "TOO_MANY_INVITES")
		_, err = h.invite(t, "just in time", 1)
		require.NoError(t, err)

		require.NoError(t, h.write(t, func(tx *database.Tx) error {
			_, err := EndInvite(tx, full)
			return err
		}))
		_, err = h.invite(t, "first", maxGuestsOfKey)
		require.NoError(t, err, "an ended invite takes no room")
	})
}

func TestGuestsTakeThePlacesOfAnInvite(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		invite, err := h.invite(t, "k", 3, "guest-b")
		require.NoError(t, err)
		welcome := func(agent string) (isNew bool, err error) {
			tag := h.tag(t)
			err = h.write(t, func(tx *database.Tx) error {
				locked, err := LockInvite(tx, "c", invite.ID)
				if err != nil {
					return err
				}
				isNew, err = Welcome(tx, locked, agent)
				return err
			})
			require.Equal(t, isNew, tag != h.tag(t), "the servers read the keys again if there is somebody new")
			return isNew, err
		}
		for _, row := range []struct {
			agent string
			isNew bool
		}{{"guest-c", true}, {"guest-c", false}, {"guest-b", true}, {"guest-b", false}, {"guest-a", true}} {
			isNew, err := welcome(row.agent)
			require.NoError(t, err)
			require.Equal(t, row.isNew, isNew, row.agent)
		}
		_, err = welcome("guest-d")
		requireFault(t, err, fault.Denied, "INVITE_USED_UP")
		require.Equal(t, []string{"guest-b", "guest-c", "guest-a"}, h.live(t)[invite.ID].Agents, "in the order of their places")
		_, err = h.invite(t, "k", 1, "guest-a")
		requireFault(t, err, fault.AlreadyExists, "AGENT_NAME_TAKEN")
	})
}

func TestAnInviteIsFoundInItsChannelAndEndsOnce(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		invite, err := h.invite(t, "k", 1)
		require.NoError(t, err)
		plain := h.create(t, bound("alice")).GetKey().GetId()
		require.NoError(t, h.write(t, func(tx *database.Tx) error {
			for _, wrong := range [][2]string{{"other", invite.ID}, {"c", plain}, {"c", newID()}, {"c", "x"}} {
				_, err := LockInvite(tx, wrong[0], wrong[1])
				require.ErrorIs(t, err, errInviteNotFound, wrong)
			}
			locked, err := LockInvite(tx, "c", invite.ID)
			require.NoError(t, err)
			for _, changes := range []bool{true, false} {
				changed, err := EndInvite(tx, locked)
				require.NoError(t, err)
				require.Equal(t, changes, changed)
			}
			require.ErrorIs(t, TakeOver(tx, locked, under("other")), errInviteEnded)
			return nil
		}))
		require.NotContains(t, h.live(t), invite.ID)
	})
}

func TestWhatAnEndedKeyMadePausesUntilSomebodyTakesItOver(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		first, second := h.create(t, bound("ann")).GetKey().GetId(), h.create(t, bound("ann")).GetKey().GetId()
		brief := bound("ann")
		brief.ExpiresAt = timestamppb.New(h.clock.Now().Add(time.Minute))
		third := h.create(t, brief).GetKey().GetId()
		invite, err := h.invite(t, first, 1)
		require.NoError(t, err)
		require.Empty(t, h.Paused(h.live(t)[invite.ID]))
		h.revoke(t, first)
		h.clock.Advance(time.Minute)
		require.NotContains(t, h.live(t), invite.ID, "nobody comes in while it is paused")
		h.KnowConfigured(func(string) bool { return false })
		for _, row := range []struct {
			makers []string
			paused map[string]string
		}{
			{[]string{""}, map[string]string{}},
			{[]string{first, second, third, "0123456789abcdef", ""}, map[string]string{
				first: PausedRevoked, third: PausedExpired, "0123456789abcdef": PausedRemoved,
			}},
		} {
			require.NoError(t, h.db.Read(t.Context(), func(tx *database.Tx) error {
				paused, err := h.PausedOf(tx, row.makers...)
				require.Equal(t, row.paused, paused)
				return err
			}))
		}
		for _, changes := range []bool{true, false} {
			tag := h.tag(t)
			require.NoError(t, h.write(t, func(tx *database.Tx) error {
				locked, err := LockInvite(tx, "c", invite.ID)
				require.NoError(t, err)
				require.Equal(t, changes, h.Paused(locked) == PausedRevoked)
				require.NoError(t, TakeOver(tx, locked, under(second)))
				require.Empty(t, h.Paused(locked))
				return nil
			}))
			require.Equal(t, changes, tag != h.tag(t))
		}
		require.Empty(t, h.Paused(h.live(t)[invite.ID]))
		require.Equal(t, second, h.live(t)[invite.ID].Invite.ByKey)
	})
}

// The answer about a revoked key names what pauses with it, up to a bound, and says whether there is more.
func TestARevocationListsWhatPauses(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		few, many := h.create(t, bound("ann")).GetKey().GetId(), h.create(t, bound("ann")).GetKey().GetId()
		made := make(map[string][]string)
		for key, count := range map[string]int{few: maxListed, many: maxListed + 1} {
			require.NoError(t, h.write(t, func(tx *database.Tx) error {
				for range count {
					invite, _, err := IssueInvite(tx, InviteDraft{Label: "x", Invite: Invite{ChannelID: "c", IntentNo: 1, By: "ann", ByKey: key}}, under(key))
					if err != nil {
						return err
					}
					made[key] = append(made[key], invite.ID)
				}
				return nil
			}))
			slices.Sort(made[key])
		}
		require.NoError(t, h.write(t, func(tx *database.Tx) error {
			_, _, err := IssueInvite(tx, InviteDraft{
				Label: "x", Invite: Invite{ChannelID: "c", IntentNo: 1, By: "ann", ByKey: few}, ExpiresAt: h.clock.Now().Add(time.Minute),
			}, under(few))
			return err
		}))
		h.clock.Advance(time.Minute) // one that is over does not pause
		require.Equal(t, made[few], h.revoke(t, few).GetPaused().GetInviteIds())
		h.OnListing(func(_ *database.Tx, keyID string, limit int) ([]string, error) {
			return slices.Repeat([]string{keyID}, min(limit, maxListed+7)), nil
		})
		paused := h.revoke(t, few).GetPaused()
		require.False(t, paused.GetMoreInvites())
		require.Len(t, paused.GetSubscriptionIds(), maxListed)
		require.True(t, paused.GetMoreSubscriptions())
		paused = h.revoke(t, many).GetPaused()
		require.Equal(t, made[many][:maxListed], paused.GetInviteIds())
		require.True(t, paused.GetMoreInvites())
	})
}
