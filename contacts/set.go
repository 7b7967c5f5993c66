package contacts

import (
	"context"
	"fmt"

	"github.com/oklog/ulid/v2"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
)

const (
	// maxOfKey is how many contacts at most were set, or last proved, with one key.
	maxOfKey = 1_000
	// idPrefix begins the id of each contact; a ULID follows.
	idPrefix = "cont_"
)

var (
	errNotFound = fault.New(fault.NotFound, "CONTACT_NOT_FOUND",
		"The agent has no contact with this contact_id; list its contacts, and name one of them.")
	errTooManyContacts = fault.New(fault.Quota, "TOO_MANY_CONTACTS",
		"This key has set 1,000 contacts, the most that one may; remove some of them.")
)

// speaker returns the caller, if it speaks for an agent.
func speaker(ctx context.Context, agent string) (caller.Caller, error) {
	c, err := caller.Known(ctx)
	if err != nil {
		return c, err
	}
	if err := caller.CheckName("agent_id", agent); err != nil {
		return c, err
	}
	return c, c.CheckOwns(agent)
}

// ListContacts returns the contacts of a name.
func (s *Service) ListContacts(ctx context.Context, req *openintentv1.ListContactsRequest) (*openintentv1.Contacts, error) {
	c, err := speaker(ctx, req.GetAgentId())
	if err != nil {
		return nil, err
	}
	return s.list(ctx, c, req.GetAgentId())
}

func (s *Service) list(ctx context.Context, c caller.Caller, agent string) (listed *openintentv1.Contacts, err error) {
	err = s.DB.ReadFor(ctx, c.Reader(), func(tx *database.Tx) error {
		listed = &openintentv1.Contacts{}
		found, err := read(tx, agent)
		if err != nil {
			return err
		}
		paused, err := s.pausedOf(tx, found)
		for _, one := range found {
			listed.Contacts = append(listed.Contacts, one.toWire(paused))
		}
		return err
	})
	return listed, err
}

// SetContacts replaces the contacts of a name, and sends a code to each new one.
func (s *Service) SetContacts(ctx context.Context, req *openintentv1.SetContactsRequest) (*openintentv1.Contacts, error) {
	c, err := speaker(ctx, req.GetAgentId())
	if err != nil {
		return nil, err
	}
	if err := caller.CheckNoGuest("agent_id", req.GetAgentId()); err != nil {
		return nil, err
	}
	wanted, err := s.wanted(req)
	if err != nil {
		return nil, err
	}
	var sendings []sending
	err = s.DB.Write(ctx, func(tx *database.Tx) (err error) {
		sendings, err = s.replace(tx, c, req.GetAgentId(), wanted)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := s.sendCodes(ctx, sendings); err != nil {
		return nil, err
	}
	return s.list(ctx, c, req.GetAgentId())
}

// entry is a checked entry of a list: a contact to keep, or a new one.
type entry struct {
	keep    string
	kind    kind
	address string
}

// wanted checks the list of a request.
func (s *Service) wanted(req *openintentv1.SetContactsRequest) ([]entry, error) {
	var entries []entry
	known := make(map[entry]bool)
	for i, one := range req.GetContacts() {
		field := fmt.Sprintf("contacts[%d]", i)
		e := entry{keep: one.GetContactId()}
		switch {
		case e.keep == "":
			var err error
			if e.kind, e.address, err = s.addressOf(field, one); err != nil {
				return nil, err
			}
		case one.GetKind() != 0 || one.Address != nil || one.GetPush() != nil:
			return nil, fault.BadField(field, "has a contact_id, which keeps a contact as it is; leave out everything else, or the contact_id")
		}
		if known[e] {
			return nil, fault.BadField(field, "is in the list already")
		}
		known[e] = true
		entries = append(entries, e)
	}
	return entries, nil
}

// replace stores the list, and returns the codes to send.
func (s *Service) replace(tx *database.Tx, c caller.Caller, agent string, wanted []entry) ([]sending, error) {
	if err := alone(tx, c, agent); err != nil {
		return nil, err
	}
	stored, err := read(tx, agent)
	if err != nil {
		return nil, err
	}
	byID, byAddress := make(map[string]*contact), make(map[entry]*contact)
	for _, one := range stored {
		byID[one.id], byAddress[entry{kind: one.kind, address: one.address}] = one, one
	}
	var fresh []*contact
	for i, e := range wanted {
		if e.keep == "" {
			if byAddress[e] != nil {
				return nil, fault.BadField(fmt.Sprintf("contacts[%d]", i),
					"is a contact of the agent already; keep it by its contact_id, which is %s", byAddress[e].id)
			}
			made := &contact{agent: agent, id: idPrefix + ulid.Make().String(), kind: e.kind, address: e.address, madeBy: c.KeyID, createdAt: tx.Now()}
			fresh = append(fresh, made)
			err = made.insert(tx, i)
		} else if kept := byID[e.keep]; kept == nil {
			return nil, errNotFound
		} else {
			delete(byID, e.keep)
			err = tx.Pipeline(database.Statement{
				SQL: "UPDATE contacts SET place = ? WHERE agent_id = ? AND id = ?", Args: []any{i, agent, kept.id},
			})
		}
		if err != nil {
			return nil, err
		}
	}
	for _, one := range byID {
		if err := one.remove(tx); err != nil {
			return nil, err
		}
	}
	return begin(tx, c, fresh)
}

// alone lets changes of a name's contacts, and those under a key, come one after the other, so that they count rightly.
func alone(tx *database.Tx, c caller.Caller, agent string) error {
	if err := tx.Alone(ofAgent(agent)); err != nil {
		return err
	}
	return tx.Alone("contacts of the key " + c.KeyID)
}

// ofAgent is the lock under which a name's contacts change.
func ofAgent(agent string) string { return "contacts of the agent " + agent }

// begin makes a code for each new contact, as far as the bounds of the key allow them.
func begin(tx *database.Tx, c caller.Caller, fresh []*contact) (sendings []sending, err error) {
	if len(fresh) == 0 {
		return nil, nil
	}
	var held int64
	if err := tx.Pipeline(database.ReadValue(&held, "SELECT count(*) FROM contacts WHERE made_by_key = ?", c.KeyID)); err != nil {
		return nil, err
	}
	if held > maxOfKey {
		return nil, errTooManyContacts
	}
	for _, one := range fresh {
		made, err := newCode(tx, c, one)
		if err != nil {
			return nil, err
		}
		sendings = append(sendings, made)
	}
	return sendings, nil
}

func (c *contact) insert(tx *database.Tx, place int) error {
	return tx.Pipeline(database.Statement{
		SQL: "INSERT INTO contacts (agent_id, id, place, kind, address, made_by_key, created_at, code_until, code_attempts, last_problem)" +
			" VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, '')",
		Args: []any{c.agent, c.id, place, string(c.kind), c.address, c.madeBy, database.Micros(c.createdAt)},
	})
}

// remove removes the contact, and what was to be sent to it. Its codes are counted on.
func (c *contact) remove(tx *database.Tx) error {
	return tx.Pipeline(
		database.Statement{SQL: "DELETE FROM contact_posts WHERE agent_id = ? AND contact_id = ?", Args: []any{c.agent, c.id}},
		database.Statement{SQL: "DELETE FROM contacts WHERE agent_id = ? AND id = ?", Args: []any{c.agent, c.id}})
}

// one reads a contact that a call names.
func one(tx *database.Tx, agent, id string) (*contact, error) {
	stored, err := read(tx, agent)
	if err != nil {
		return nil, err
	}
	for _, c := range stored {
		if c.id == id {
			return c, nil
		}
	}
	return nil, errNotFound
}
