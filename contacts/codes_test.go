package contacts

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
)

// An address gets three codes in an hour, whoever has them sent: under another name, with another key, to a contact that was removed and set again.
func TestCodesToAnAddressAreBounded(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		set := func(agent, key, path string) error {
			who := with(key, agent)
			_, err := h.SetContacts(who, &openintentv1.SetContactsRequest{AgentId: agent, Contacts: []*openintentv1.NewContact{h.to(toWebhook, path)}})
			require.NoError(t, removeAll(who, h, agent))
			return err
		}
		for _, key := range []string{"k1", "k2", "k3"} {
			require.NoError(t, set("mallory-"+key, key, "/stranger"))
		}
		requireReason(t, "TOO_MANY_CODES", set("mallory-k1", "k1", "/stranger"))
		requireReason(t, "TOO_MANY_CODES", set("mallory-k4", "k4", "/stranger"))
		require.NoError(t, set("mallory-k1", "k1", "/another"))
		require.Len(t, h.standIn.take(), 4)
		h.clock.Advance(codesPer)
		require.NoError(t, set("mallory-k4", "k4", "/stranger"))
	})
}

// The same bound holds for calls that come at the same moment, each under a name and with a key of its own. They are tried with several
// addresses, because not all calls of a moment meet.
func TestSimultaneousCodesToAnAddressAreBounded(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		for round := range 6 {
			to := h.to(toWebhook, "/stranger"+strconv.Itoa(round))
			var calls sync.WaitGroup
			const callers = 10
			refused := make([]error, callers)
			for i := range callers {
				name := fmt.Sprint(round, "-", i)
				calls.Go(func() {
					_, refused[i] = h.SetContacts(with("key"+name, "mallory"+name), &openintentv1.SetContactsRequest{
						AgentId: "mallory" + name, Contacts: []*openintentv1.NewContact{to},
					})
				})
			}
			calls.Wait()
			require.Len(t, h.standIn.take(), codesOfAddress)
			refused = slices.DeleteFunc(refused, func(err error) bool { return err == nil })
			require.Len(t, refused, callers-codesOfAddress)
			for _, err := range refused {
				requireReason(t, "TOO_MANY_CODES", err)
			}
		}
	})
}

// removeAll removes the contacts of a name.
func removeAll(who context.Context, h *house, agent string) error {
	_, err := h.SetContacts(who, &openintentv1.SetContactsRequest{AgentId: agent})
	return err
}

func TestMailToOneBoxIsCountedTogether(t *testing.T) {
	digest := func(k kind, address string) string {
		return string((&contact{kind: k, address: address}).addressDigest())
	}
	for _, same := range []string{"MARIA@Example.com", "maria+1@example.com", "Maria+a+b@example.com"} {
		require.Equal(t, digest(mail, "maria@example.com"), digest(mail, same), same)
	}
	for _, other := range []string{"mario@example.com", "maria@example.org", "maria@mail.example.com"} {
		require.NotEqual(t, digest(mail, "maria@example.com"), digest(mail, other), other)
	}
	require.Equal(t, digest(webhook, "https://example.com/t"), digest(ntfy, "https://example.com/t"))
	require.NotEqual(t, digest(webhook, "https://example.com/t+1"), digest(webhook, "https://example.com/t"))
}
