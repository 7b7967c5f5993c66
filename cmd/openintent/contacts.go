package main

import (
	"context"
	"fmt"
	"strings"

	openintentv1 "openintent/gen/openintent/v1"
)

// contactsCommand holds the verbs that work on a person's contacts.
type contactsCommand struct {
	List   contactListCommand   `cmd:"" default:"withargs" help:"List the contacts, without the secrets in their addresses."`
	Set    contactSetCommand    `cmd:"" help:"Add a contact, to which the server then sends a code."`
	Prove  contactProveCommand  `cmd:"" help:"Prove a contact with the code that arrived there, or have a new code sent."`
	Remove contactRemoveCommand `cmd:"" help:"Remove a contact."`
}

// contactListCommand lists contacts.
type contactListCommand struct{ refusing }

// Run prints a table.
func (c *contactListCommand) Run(ctx context.Context, to terminal) error {
	return c.onContacts(to, func(contacts openintentv1.ContactServiceClient, agent string) error {
		listed, err := called(contacts.ListContacts(ctx, &openintentv1.ListContactsRequest{AgentId: agent}))
		if err != nil {
			return err
		}
		printed := newTable("CONTACT", "KIND", "ADDRESS", "STATE", "FAILING SINCE")
		return list(c.output, to, printed, listed.GetContacts(), func(c *openintentv1.Contact) []string {
			return []string{c.GetContactId(), contactKind(c.GetKind()), c.GetShown(), contactState(c), clock(c.GetFailingSince())}
		})
	})
}

// contactSetCommand adds a contact.
type contactSetCommand struct {
	refusing
	Kind    string `arg:"" enum:"webhook,ntfy,slack,mail" help:"webhook, ntfy, slack or mail."`
	Address string `arg:"" help:"The URL, or the mail address."`
}

// Help says what follows.
func (contactSetCommand) Help() string {
	return `The server sends a code to the new contact. Give it back with "contacts prove"; until then nothing else is sent there.

  openintent contacts set ntfy https://ntfy.sh/a-topic-that-nobody-guesses`
}

// Run adds the contact to those that are there.
func (c *contactSetCommand) Run(ctx context.Context, to terminal) error {
	return c.onContacts(to, func(contacts openintentv1.ContactServiceClient, agent string) error {
		listed, err := called(contacts.ListContacts(ctx, &openintentv1.ListContactsRequest{AgentId: agent}))
		if err != nil {
			return err
		}
		request := &openintentv1.SetContactsRequest{AgentId: agent, Contacts: append(keeping(listed, ""), &openintentv1.NewContact{
			Kind: openintentv1.ContactKind(openintentv1.ContactKind_value["CONTACT_KIND_"+strings.ToUpper(c.Kind)]), Address: &c.Address,
		})}
		set, err := called(contacts.SetContacts(ctx, request))
		if err != nil {
			return err
		}
		made := set.GetContacts()[len(set.GetContacts())-1]
		if made.LastProblem == nil {
			to.note("A code is on its way. Then: openintent contacts prove %s CODE", made.GetContactId())
		}
		return show(c.output, to, made, contactFields)
	})
}

// contactProveCommand proves a contact.
type contactProveCommand struct {
	refusing
	ID   string `arg:"" name:"contact-id" help:"The contact's id."`
	Code string `arg:"" optional:"" help:"The code that arrived there. Without it, the server sends a new one."`
}

// Run prints the contact's fields.
func (c *contactProveCommand) Run(ctx context.Context, to terminal) error {
	return c.onContacts(to, func(contacts openintentv1.ContactServiceClient, agent string) error {
		var found *openintentv1.Contact
		var err error
		if c.Code == "" {
			found, err = called(contacts.SendContactCode(ctx, &openintentv1.SendContactCodeRequest{AgentId: agent, ContactId: c.ID}))
		} else {
			found, err = called(contacts.ProveContact(ctx, &openintentv1.ProveContactRequest{AgentId: agent, ContactId: c.ID, Code: c.Code}))
		}
		if err != nil {
			return err
		}
		return show(c.output, to, found, contactFields)
	})
}

// contactRemoveCommand removes a contact.
type contactRemoveCommand struct {
	refusing
	ID string `arg:"" name:"contact-id" help:"The contact's id."`
}

// Run removes the contact, and keeps the others.
func (c *contactRemoveCommand) Run(ctx context.Context, to terminal) error {
	return c.onContacts(to, func(contacts openintentv1.ContactServiceClient, agent string) error {
		listed, err := called(contacts.ListContacts(ctx, &openintentv1.ListContactsRequest{AgentId: agent}))
		if err != nil {
			return err
		}
		kept := keeping(listed, c.ID)
		if len(kept) == len(listed.GetContacts()) {
			return fmt.Errorf("%s has no contact %s; \"openintent contacts list\" shows those that it has", agent, c.ID)
		}
		_, err = called(contacts.SetContacts(ctx, &openintentv1.SetContactsRequest{AgentId: agent, Contacts: kept}))
		return err
	})
}

// onContacts runs work on the contacts of an agent.
func (c *refusing) onContacts(to terminal, work func(contacts openintentv1.ContactServiceClient, agent string) error) error {
	client, agent, err := c.begin(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	return work(client.Raw().Contacts, agent)
}

// keeping returns the entries that keep the contacts of a list, but for one.
func keeping(listed *openintentv1.Contacts, but string) (kept []*openintentv1.NewContact) {
	for _, c := range listed.GetContacts() {
		if c.GetContactId() != but {
			kept = append(kept, &openintentv1.NewContact{ContactId: new(c.GetContactId())})
		}
	}
	return kept
}

func contactFields(c *openintentv1.Contact) (shown fields) {
	shown.add("contact", c.GetContactId())
	shown.add("kind", contactKind(c.GetKind()))
	shown.add("address", c.GetShown())
	shown.add("state", contactState(c))
	shown.add("proved", clock(c.GetProvedAt()))
	shown.add("failing since", clock(c.GetFailingSince()))
	shown.add("last problem", c.GetLastProblem())
	return shown
}

func contactKind(k openintentv1.ContactKind) string {
	return strings.ToLower(strings.TrimPrefix(k.String(), "CONTACT_KIND_"))
}

func contactState(c *openintentv1.Contact) string {
	return strings.ToLower(strings.TrimPrefix(c.GetState().String(), "CONTACT_STATE_"))
}
