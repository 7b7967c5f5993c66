package messaging

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/messaging/message"
	"openintent/messaging/writing"
)

// This file bounds what strangers pile up for an agent or a role: the messages addressed to it, from all names of one API key, that nobody
// has read and that did not surface, while the recipient has no relation to their sender (stranger.go).
//
// Each server keeps an account in memory for each key and recipient: how many further messages it lets through without a look at the
// database. While that lasts, a message costs no statement, whoever sends it. Then a look finds out what holds: for a related sender it lets
// as many through as the bound, and for a stranger as many as there is room for. What several servers let through, what a restart forgets
// and what falls out of memory is bounded by what a new account begins with, a tenth of the bound.
const (
	// keptPiles is how many accounts are kept in memory, and how many answers of looks.
	keptPiles = 16_384
	// pileNames bounds the senders' names that an account keeps, in bytes. It keeps one whatever its length. Of further names it counts what
	// they sent as unread.
	pileNames = 1024
	// newPilePart is which part of the bound a new account lets through.
	newPilePart = 10
	// pileRest is how long after a refusal the server looks again.
	pileRest = time.Second
)

// piles are the accounts of all keys with their recipients.
type piles struct {
	db *database.DB
	// most is the bound.
	most int
	// look finds out what the database has.
	look func(tx *database.Tx, a pileQuestion) (pileAnswer, error)

	accounts *lru.Cache[pileOf, *pile]
	answers  *lru.Cache[tieOf, *pileMemo]
}

// pileOf names a pile: what one key sends to one agent or role.
type pileOf struct{ keyID, recipient string }

// tieOf names what a look is about: a sender of a key, whom it addresses, and where.
type tieOf struct {
	pileOf
	sender   string
	intentNo int64
}

// pile is the account of one key with one recipient.
type pile struct {
	looking  chan struct{} // holds something while somebody looks
	underWay atomic.Int64  // messages that were let through and are not stored yet

	mutex sync.Mutex
	left  int // messages that it lets through without a look
	// names are the senders under which the key has written, of together so many bytes. others counts what further senders wrote.
	names  []string
	bytes  int
	others int
}

// pileMemo is what a look has found out: so many further messages of a related sender, or no message until a time.
type pileMemo struct {
	left  atomic.Int64
	until time.Time // zero for a related sender
}

// rests reports whether a refusal still counts without a new look. It never does for longer than pileRest, also if the clock is set back.
func (m *pileMemo) rests(now time.Time) bool {
	left := m.until.Sub(now)
	return 0 < left && left <= pileRest
}

// pileQuestion is what a look asks.
type pileQuestion struct {
	tieOf
	// names are all senders whose messages count. doers are those whose doing gives the recipient no relation to the sender.
	names, doers []string
	limit        int
}

// pileAnswer reports whether the recipient is related to the sender and, if not, how many messages wait: at most one more than the limit.
type pileAnswer struct {
	related bool
	unread  int
}

func newPiles(db *database.DB, most int, look func(*database.Tx, pileQuestion) (pileAnswer, error)) *piles {
	accounts, _ := lru.New[pileOf, *pile](keptPiles) // fails only for a size that is not positive
	answers, _ := lru.New[tieOf, *pileMemo](keptPiles)
	return &piles{db: db, most: most, look: look, accounts: accounts, answers: answers}
}

// keep sets how many entries are cached.
func (p *piles) keep(entries int) {
	p.accounts.Resize(entries)
	p.answers.Resize(entries)
}

// admit refuses a message for which a stranger's pile has no room. A draft with an idempotency key goes to the writer all the same: it may be
// the repeat of one that was stored.
func (p *piles) admit(ctx context.Context, d *writing.Draft) error {
	if d.By.IsOperator || d.MessageType == message.TypeResponse || message.ToEveryone(d.Target) {
		return nil
	}
	refusal, err := p.charge(ctx, d)
	switch {
	case err != nil || refusal == nil:
		return err
	case d.Key == "":
		return refusal
	}
	d.Pile = refusal
	return nil
}

// charge lets a message through, or says why not.
func (p *piles) charge(ctx context.Context, d *writing.Draft) (*fault.Fault, error) {
	of := pileOf{d.By.KeyID, d.Target}
	account, about := p.account(of), tieOf{of, d.Sender, d.IntentNo}
	if account.take(d) || p.remembers(about, account, d) {
		return nil, nil
	}
	select { // one look at a time for an account
	case account.looking <- struct{}{}:
		defer func() { <-account.looking }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if account.take(d) || p.remembers(about, account, d) {
		return nil, nil
	}
	if memo, known := p.answers.Get(about); known && memo.rests(p.db.Now()) {
		return p.refusal(), nil
	}
	if let, err := p.lookAgain(ctx, d, account, about); err != nil || !let {
		return p.refusal(), err
	}
	return nil, nil
}

// lookAgain asks the database, notes the answer, and tells whether it lets the draft through.
func (p *piles) lookAgain(ctx context.Context, d *writing.Draft, account *pile, about tieOf) (let bool, err error) {
	names, counted := account.senders() // before the look: what is stored meanwhile rather counts twice than not at all
	question := pileQuestion{tieOf: about, names: names, doers: doers(names, d.By), limit: p.most}
	var answer pileAnswer
	err = p.db.ReadHeavy(ctx, d.By.Reader(), func(tx *database.Tx) (err error) {
		answer, err = p.look(tx, question)
		return err
	})
	if err != nil {
		return false, err
	}
	if answer.related {
		memo := &pileMemo{}
		memo.left.Store(int64(p.most))
		p.answers.Add(about, memo)
		return p.remembers(about, account, d), nil
	}
	room := p.most - answer.unread - counted
	if room <= 0 {
		p.answers.Add(about, &pileMemo{until: p.db.Now().Add(pileRest)})
		return false, nil
	}
	p.answers.Remove(about)
	account.open(room)
	return account.take(d), nil
}

// remembers reports whether a look has lately found the sender related, and takes one message off what that lets through.
func (p *piles) remembers(about tieOf, account *pile, d *writing.Draft) bool {
	memo, known := p.answers.Get(about)
	if !known || !memo.until.IsZero() || memo.left.Add(-1) < 0 {
		return false
	}
	account.letThrough(d)
	return true
}

func (p *piles) account(of pileOf) *pile {
	if account, known := p.accounts.Get(of); known {
		return account
	}
	account := &pile{left: max(p.most/newPilePart, 1), looking: make(chan struct{}, 1)}
	if before, known, _ := p.accounts.PeekOrAdd(of, account); known {
		return before
	}
	return account
}

// take notes who sends, and lets the draft through unless what the account lets through is used up.
func (a *pile) take(d *writing.Draft) bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	sender := d.Sender
	known := slices.Contains(a.names, sender)
	if !known && (len(a.names) == 0 || a.bytes+len(sender) <= pileNames) {
		a.names, a.bytes, known = append(a.names, sender), a.bytes+len(sender), true
	}
	if a.left <= 0 {
		return false
	}
	a.left--
	if !known {
		a.others++
	}
	a.letThrough(d)
	return true
}

// open sets how many messages the account lets through.
func (a *pile) open(room int) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.left = room
}

// letThrough counts a draft that is let through until its outcome is known.
func (a *pile) letThrough(d *writing.Draft) {
	a.underWay.Add(1)
	d.UnderWay = &a.underWay
}

// senders returns the names under which the key has written, and how many messages count as unread without a look: those of further
// senders, and those under way.
func (a *pile) senders() (names []string, counted int) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return slices.Clone(a.names), a.others + int(a.underWay.Load())
}

// doers returns the agents of which the caller's key may make one do something for another.
func doers(names []string, by caller.Caller) []string {
	return database.Distinct(slices.Concat(names, by.KeyAgents, []string{by.Agent}))
}

// refusal says that a pile has no room.
func (p *piles) refusal() *fault.Fault {
	const description = "it has %d messages of this API key that it has not read, and no relation to their sender; " +
		"wait until it has read some of them, or has written to the sender"
	refusal := fault.New(fault.Quota, "TOO_MANY_UNREAD", "to: "+description+".", p.most).With("max_unread_from_strangers", strconv.Itoa(p.most))
	refusal.Fields = []fault.Field{{Path: "to", Description: fmt.Sprintf(description, p.most)}}
	return refusal
}
