package channels

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

// byAddress asks for the channel that an address leads to.
func byAddress(address string) *openintentv1.GetChannelRequest {
	return &openintentv1.GetChannelRequest{ChannelId: AnyID, Address: &address}
}

func TestAnAddressLeadsToItsChannel(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t, "alice")
		require.Nil(t, h.create(t, "alice", &createRequest{IntentId: intentID, Name: "plain"}).Address)
		made := h.create(t, "alice", &createRequest{IntentId: intentID, Name: "board", Dictatable: true})
		require.Regexp(t, `^[ABCDEFGHJKMPQRSTUVWXYZ]{2}[4-9]{2}$`, made.GetAddress())
		require.Equal(t, made.GetAddress(), h.list(t, intentID, nil)[1].GetAddress())
		for _, written := range []string{made.GetAddress(), strings.ToLower(made.GetAddress()), " " + made.GetAddress() + " "} {
			found, err := h.channels.GetChannel(as("bob"), byAddress(written))
			require.NoError(t, err)
			require.Equal(t, made.String(), found.String())
		}
		for _, nowhere := range []string{"", "VH", "VH4", "V447", "VI47", "VH01", "VH4747", "chan_x", strings.Repeat("A", 30) + "44", AnyID} {
			_, err := h.channels.GetChannel(as("bob"), byAddress(nowhere))
			faulttest.Require(t, err, fault.NotFound, "CHANNEL_NOT_FOUND")
		}
		_, err := h.channels.GetChannel(as("bob"), &openintentv1.GetChannelRequest{ChannelId: made.GetId(), Address: made.Address})
		faulttest.RequireBadField(t, err, "address")
		require.NoError(t, h.deleteChannel(as("alice"), made.GetId()))
		_, err = h.channels.GetChannel(as("bob"), byAddress(made.GetAddress()))
		faulttest.Require(t, err, fault.NotFound, "CHANNEL_NOT_FOUND")
	})
}

// An address gives no access: it takes what the id takes, of callers and of their keys.
func TestAnAddressGivesNoAccess(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t, "alice")
		made := h.create(t, "alice", &createRequest{IntentId: intentID, Name: "board", Dictatable: true})
		kept := caller.Caller{Agent: "bob", KeyID: "k", KeyAgents: []string{"bob"}, Scope: caller.NewScope([]string{"elsewhere"}, nil)}
		_, err := h.channels.GetChannel(caller.NewContext(t.Context(), kept), byAddress(made.GetAddress()))
		faulttest.Require(t, err, fault.NotFound, "CHANNEL_NOT_FOUND")
		kept.Scope = caller.NewScope(nil, []string{made.GetId()})
		_, err = h.channels.GetChannel(caller.NewContext(t.Context(), kept), byAddress(made.GetAddress()))
		require.NoError(t, err)
		h.closeAccess(t, intentID)
		_, err = h.channels.GetChannel(as("mallory"), byAddress(made.GetAddress()))
		forbidden := faulttest.Require(t, err, fault.NotFound, "CHANNEL_NOT_FOUND")
		_, err = h.channels.GetChannel(as("mallory"), byAddress("ZZ99"))
		require.Equal(t, forbidden, faulttest.Require(t, err, fault.NotFound, "CHANNEL_NOT_FOUND"), "nobody learns whether there is a channel")
	})
}

// A key that tries addresses is stopped, whatever it finds at the last ones, and who was let into a channel is not.
func TestAKeyTriesFewAddresses(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		closed, open := h.intent(t, "alice"), h.intent(t, "alice")
		h.closeAccess(t, closed)
		forbidden := h.create(t, "alice", &createRequest{IntentId: closed, Name: "forbidden", Dictatable: true}).GetAddress()
		public := h.create(t, "alice", &createRequest{IntentId: open, Name: "public", Dictatable: true}).GetAddress()
		look := func(agent, key, address string) error {
			who := caller.Caller{Agent: agent, KeyID: key, KeyAgents: []string{agent}}
			_, err := h.channels.GetChannel(caller.NewContext(t.Context(), who), byAddress(address))
			return err
		}
		require.NoError(t, look("mallory", "m", public))
		for i := range straysPerMinute {
			err := look(fmt.Sprint("mallory-", i%2), "m", []string{forbidden, "ZZ99", "no address"}[i%3])
			faulttest.Require(t, err, fault.NotFound, "CHANNEL_NOT_FOUND")
		}
		for _, address := range []string{forbidden, "ZZ99", public} {
			refusal := faulttest.Require(t, look("mallory", "m", address), fault.Quota, "TOO_MANY_WRONG_ADDRESSES")
			require.Equal(t, 3*time.Second, refusal.RetryAfter)
		}
		require.NoError(t, look("alice", "m", forbidden), "who was let in is served, under the same key too")
		require.NoError(t, look("bob", "b", public), "other keys are")
		h.clock.Advance(4 * time.Second)
		require.NoError(t, look("mallory", "m", public))
		faulttest.Require(t, look("mallory", "m", "ZZ99"), fault.NotFound, "CHANNEL_NOT_FOUND")
		faulttest.Require(t, look("mallory", "m", "ZZ99"), fault.Quota, "TOO_MANY_WRONG_ADDRESSES")
	})
}

// When many of the short addresses are taken, new ones get a letter more. No address is given twice.
func TestAddressesGrow(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t, "alice")
		taken := make(map[string]bool)
		fill := func(letters, count int) {
			var addresses []string
			for i := 0; len(addresses) < count; i++ {
				address := strings.Repeat("A", letters-2) + string(addressLetters[i/36%22]) + string(addressLetters[i/36/22]) +
					fmt.Sprint(4+i%6, 4+i/6%6)
				address = strings.ReplaceAll(address, " ", "")
				taken[address], addresses = true, append(addresses, address)
			}
			numbers := make([]int64, count)
			levels := make([]int64, count)
			for i := range levels {
				levels[i] = int64(letters)
			}
			require.NoError(t, h.db.Write(t.Context(), func(tx *database.Tx) error {
				return tx.Pipeline(tx.Insert("channel_addresses", database.Column{Name: "address", Values: addresses},
					database.Column{Name: "letters", Values: levels}, database.Column{Name: "intent_no", Values: numbers},
					database.Column{Name: "channel_no", Values: numbers})...)
			}))
		}
		fill(2, shortAddresses-1)
		next := func(name string) string {
			address := h.create(t, "alice", &createRequest{IntentId: intentID, Name: name, Dictatable: true}).GetAddress()
			require.False(t, taken[address], address)
			taken[address] = true
			return address
		}
		require.Len(t, next("the last short one"), 4)
		require.Len(t, next("the first long one"), 5)
		require.Len(t, next("the second long one"), 5)
	})
}
