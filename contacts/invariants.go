package contacts

import "openintent/internal/database"

// Invariants are the rules that the stored rows of this room keep.
func Invariants() []database.Invariant {
	return []database.Invariant{
		{
			Rule:   "a contact that is switched off was proved before",
			Of:     "contacts",
			Broken: "FROM contacts c WHERE c.off_at IS NOT NULL AND c.proved_at IS NULL",
			At:     []string{"c.agent_id", "c.id"},
		},
		{
			Rule: "each name with a contact that gets pointers is looked at",
			Of:   "contacts",
			Broken: "FROM contacts c WHERE c.proved_at IS NOT NULL AND c.off_at IS NULL" +
				" AND NOT EXISTS (SELECT 1 FROM contact_looks l WHERE l.agent_id = c.agent_id)",
			At: []string{"c.agent_id", "c.id"},
		},
		{
			Rule:   "what is to be sent has a contact",
			Of:     "contact_posts",
			Broken: "FROM contact_posts p WHERE NOT EXISTS (SELECT 1 FROM contacts c WHERE c.agent_id = p.agent_id AND c.id = p.contact_id)",
			At:     []string{"p.post_no"},
		},
		{
			Rule:   "each code was sent for a key",
			Of:     "contact_codes",
			Broken: "FROM contact_codes c WHERE c.key_id = ''",
			At:     []string{"c.code_no"},
		},
		{
			Rule:   "each name to be looked at has been scheduled",
			Of:     "contact_looks",
			Broken: "FROM contact_looks l WHERE l.version < 1",
			At:     []string{"l.agent_id"},
		},
		{
			Rule:   "there is at most one pair of keys for pushes, and it is whole",
			Of:     "web_push_keys",
			Broken: "FROM web_push_keys k WHERE k.one <> 1 OR k.public_key = '' OR k.private_key = ''",
			At:     []string{"k.one"},
		},
		{
			Rule:   "each call was told once at least, and three times at most",
			Of:     "contact_calls",
			Broken: "FROM contact_calls c WHERE c.step < 1 OR c.step > 3",
			At:     []string{"c.agent_id", "c.sender"},
		},
	}
}
