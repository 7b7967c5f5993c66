package record

import "openintent/internal/database"

// Pairs are keys of two numbers: a subscription's, and a delivery's or an intent's.
type Pairs struct{ Nos, Numbers []int64 }

// Add adds a pair.
func (p *Pairs) Add(no, number int64) {
	p.Nos, p.Numbers = append(p.Nos, no), append(p.Numbers, number)
}

// keys returns the pairs as two columns with the given names.
func (p *Pairs) keys(no, number string) []database.Column {
	return []database.Column{{Name: no, Values: p.Nos}, {Name: number, Values: p.Numbers}}
}

// Places are how far subscriptions have come in intents.
type Places struct {
	Pairs
	positions []int64
}

// Add adds how far a subscription has come in an intent.
func (p *Places) Add(no, intentNo, position int64) {
	p.Pairs.Add(no, intentNo)
	p.positions = append(p.positions, position)
}

func (p *Places) position() database.Column {
	return database.Column{Name: "position", Values: p.positions}
}

// Insert stores the positions in intents of which none is stored.
func (p *Places) Insert(tx *database.Tx) []database.Statement {
	return tx.InsertIgnore("subscription_positions", append(p.keys("subscription_no", "intent_no"), p.position())...)
}

// Update stores the positions instead of others.
func (p *Places) Update(tx *database.Tx) []database.Statement {
	return tx.Update("subscription_positions", p.keys("subscription_no", "intent_no"), []database.Column{p.position()})
}

// Advance inserts or raises the positions.
func (p *Places) Advance(tx *database.Tx) []database.Statement {
	return tx.Advance("subscription_positions", p.keys("subscription_no", "intent_no"), p.position())
}
