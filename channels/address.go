package channels

import (
	"crypto/rand"
	"math/big"
	"strings"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/fault"
)

// An address is a short text by which people tell each other of a channel: letters, and two digits after them. It leaves out what is easily
// mistaken for something else when it is read aloud or written by hand. It is no secret: whoever finds one needs the same access as by the id.
const (
	addressLetters = "ABCDEFGHJKMPQRSTUVWXYZ"
	addressDigits  = "456789"
	// fewestLetters and mostLetters bound the letters of an address.
	fewestLetters, mostLetters = 2, 10
	digits                     = 2
	// shortAddresses is how many addresses of the fewest letters are given away. Each further letter makes room for as many times more as
	// there are letters. So few of all possible addresses lead anywhere, and a slip of the tongue rarely leads to another channel.
	shortAddresses = 1000
	// addressTries is how often a free address is looked for.
	addressTries = 50
)

var errAddressMisplaced = fault.BadField("address", "it goes with channel_id `-`; give one of the two")

// errNoAddress means that somebody else took the address a moment ago, or that many addresses in a row were taken.
var errNoAddress = fault.New(fault.Unavailable, "NO_ADDRESS_FREE", "No free address was found; try again in a moment.")

// named returns the key of the channel that a request names by its id or its address.
func (s *Service) named(tx *database.Tx, req *openintentv1.GetChannelRequest) (Key, error) {
	switch {
	case req.GetChannelId() == AnyID && req.Address != nil:
		return keyOfAddress(tx, req.GetAddress())
	case req.Address != nil:
		return Key{}, errAddressMisplaced
	}
	return s.Locate(tx, req.GetChannelId())
}

// keyOfAddress returns the key of an address's channel, or ErrChannelNotFound for an address that leads nowhere.
func keyOfAddress(tx *database.Tx, address string) (key Key, err error) {
	address = strings.ToUpper(strings.TrimSpace(address))
	if !isAddress(address) {
		return Key{}, ErrChannelNotFound
	}
	found := false
	err = tx.Pipeline(database.Statement{
		SQL:  "SELECT intent_no, channel_no FROM channel_addresses WHERE address = ?",
		Args: []any{address},
		Scan: func(row database.Row) error {
			found = true
			return row.Scan(&key.IntentNo, &key.ChannelNo)
		},
	})
	if err == nil && !found {
		err = ErrChannelNotFound
	}
	return key, err
}

// ownDocuments are the documents that a channel with an address is made with: its charter and its live state.
var ownDocuments = []string{"spec", "state"}

// OwnDocuments returns the documents that the channel was made with. They have places of their own.
func (r *Rules) OwnDocuments() []string {
	if r.Address == "" {
		return nil
	}
	return ownDocuments
}

// isAddress reports whether a text has the form of an address.
func isAddress(text string) bool {
	letters := len(text) - digits
	if letters < fewestLetters || letters > mostLetters {
		return false
	}
	return strings.Trim(text[:letters], addressLetters) == "" && strings.Trim(text[letters:], addressDigits) == ""
}

// takeAddress chooses an address that no channel has. Two transactions may choose the same one at the same time; then keepAddress refuses
// the second one.
func takeAddress(tx *database.Tx) (string, error) {
	letters, err := lettersFor(tx)
	if err != nil {
		return "", err
	}
	for range addressTries {
		address := pick(addressLetters, letters) + pick(addressDigits, digits)
		var taken int64
		err := tx.Pipeline(database.ReadValue(&taken, "SELECT count(*) FROM channel_addresses WHERE address = ?", address))
		if err != nil || taken == 0 {
			return address, err
		}
	}
	return "", errNoAddress
}

// lettersFor returns how many letters the next address gets: as many as the longest ones, or one more if there are enough of these.
func lettersFor(tx *database.Tx) (int, error) {
	longest := int64(fewestLetters)
	var taken int64
	err := tx.Pipeline(database.ReadValue(&longest, "SELECT COALESCE(max(letters), ?) FROM channel_addresses", longest))
	if err != nil {
		return 0, err
	}
	room := int64(shortAddresses)
	for range longest - fewestLetters {
		room *= int64(len(addressLetters))
	}
	err = tx.Pipeline(database.ReadValue(&taken,
		"SELECT count(*) FROM (SELECT 1 FROM channel_addresses WHERE letters = ? LIMIT ?) AS counted", longest, room))
	if taken >= room && longest < mostLetters {
		longest++
	}
	return int(longest), err
}

// keepAddress notes that a new channel has its address.
func keepAddress(tx *database.Tx, r *Rules) error {
	var kept int64
	err := tx.Pipeline(append(tx.InsertIgnore("channel_addresses",
		database.Column{Name: "address", Values: []string{r.Address}},
		database.Column{Name: "letters", Values: []int64{int64(len(r.Address) - digits)}},
		database.Column{Name: "intent_no", Values: []int64{r.IntentNo}},
		database.Column{Name: "channel_no", Values: []int64{r.ChannelNo}},
	), database.ReadValue(&kept, "SELECT count(*) FROM channel_addresses WHERE address = ? AND intent_no = ? AND channel_no = ?",
		r.Address, r.IntentNo, r.ChannelNo))...)
	if err == nil && kept == 0 {
		err = errNoAddress
	}
	return err
}

// pick chooses characters at random, so that nobody can tell the next address from the last one.
func pick(from string, count int) string {
	var out strings.Builder
	for range count {
		at, err := rand.Int(rand.Reader, big.NewInt(int64(len(from))))
		if err != nil {
			panic(err) // the system's source of randomness does not fail
		}
		out.WriteByte(from[at.Int64()])
	}
	return out.String()
}
