package intents

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
)

// What an API key holds is known approximately, as what an intent holds is (held_in_intent.go). Each server counts what the key's calls make here
// at once, and learns what they made on other servers, and what is gone, when it counts again in the database. So a bound may be exceeded
// by what other servers make between two counts, by what is made here before the first one, and by the transactions under way.
const (
	// stockAge is how long a count is good at least. A count that takes long is good for stockShare times as long as it took.
	stockAge   = 5 * time.Second
	stockShare = 100
	// stockRun is how many counts one run makes.
	stockRun = 200
)

// Stock bounds how many things one API key may hold. A kind without a bound is not counted. It is safe for concurrent use.
type Stock struct {
	db     *database.DB
	bounds map[string]int64
	kinds  map[string]StockKind

	mutex   sync.Mutex
	keys    *lru.Cache[holding, *stocked]
	touched map[holding]struct{} // since they were last counted
}

// holding is one kind of things of one key.
type holding struct{ keyID, kind string }

// stocked is how many things a holding has, as far as this server knows.
type stocked struct {
	counted    int64     // in the database
	added      int64     // by this server since then
	countAgain time.Time // zero before the first count
}

// StockKind is a kind of things of which a key may hold so many.
type StockKind struct {
	// Name is the kind's name in the plural.
	Name string
	// From is the SQL of the things that count, after FROM, with one argument: the id of a key.
	From string
	// Freed says, in the words of a refusal, what makes room.
	Freed string
}

func newStock(db *database.DB, bounds map[string]int64, kept int) *Stock {
	s := &Stock{
		db: db, bounds: bounds, kinds: make(map[string]StockKind),
		keys: newCache[holding, *stocked](kept), touched: make(map[holding]struct{}),
	}
	s.Include(StockKind{Name: stockOfIntents, From: "intents WHERE made_by_key = ?", Freed: "complete or abandon some"})
	return s
}

// stockOfIntents is the kind of intents that have not ended.
const stockOfIntents = "intents"

// Stock returns what bounds the things that keys hold.
func (s *Service) Stock() *Stock { return s.stock }

// Include adds a kind of a room above. Call it before the service is used.
func (s *Stock) Include(kind StockKind) { s.kinds[kind.Name] = kind }

// Take counts one more thing that a transaction makes under a key, or refuses it. It counts once the transaction is stored. The server
// makes things under no key, and as many as it likes.
func (s *Stock) Take(tx *database.Tx, keyID, kind string) error {
	bound := s.bounds[kind]
	if keyID == "" || bound == 0 {
		return nil
	}
	taken := s.takenIn(tx)
	of := holding{keyID, kind}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if h := s.touch(of); h.counted+h.added+taken[of] >= bound {
		return s.refusal(kind, bound)
	}
	taken[of]++
	return nil
}

type stockKey struct{}

// takenIn returns what a transaction has taken. Once the transaction is stored, it is added.
func (s *Stock) takenIn(tx *database.Tx) map[holding]int64 {
	if taken, ok := tx.Local(stockKey{}).(map[holding]int64); ok {
		return taken
	}
	taken := make(map[holding]int64)
	tx.SetLocal(stockKey{}, taken)
	tx.AfterCommit(func() {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		for of, number := range taken {
			s.touch(of).added += number
		}
	})
	return taken
}

func (s *Stock) refusal(kind string, bound int64) error {
	return fault.New(fault.Quota, "STOCK_FULL",
		"This API key holds about %d %s, which is the most that one key may hold; %s, and try again in a few seconds.",
		bound, kind, s.kinds[kind].Freed,
	).With("kind", kind).With("max_"+kind+"_per_key", strconv.FormatInt(bound, 10)).After(stockAge)
}

// touch returns what is known of a holding, which is counted again when its count is too old.
func (s *Stock) touch(of holding) *stocked {
	s.touched[of] = struct{}{}
	h, ok := s.keys.Get(of)
	if !ok {
		h = &stocked{}
		s.keys.Add(of, h)
	}
	return h
}

// Recount counts the holdings again to which something was added, or for which there was no room, since they were last counted. Each server
// does it for itself.
func (s *Stock) Recount(ctx context.Context) (err error) {
	for _, of := range s.due() {
		if failed := s.count(ctx, of); failed != nil {
			err = errors.Join(err, fmt.Errorf("counting the %s of a key: %w", of.kind, failed))
		}
	}
	return err
}

func (s *Stock) due() (due []holding) {
	now := s.db.Now()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for of := range s.touched {
		h, known := s.keys.Peek(of)
		if !known {
			delete(s.touched, of)
			continue
		}
		if wait := h.countAgain.Sub(now); (wait <= 0 || wait > time.Hour) && len(due) < stockRun {
			due = append(due, of)
			delete(s.touched, of)
		}
	}
	return due
}

// count counts a holding, up to its bound. What is added meanwhile may count twice until the next count.
func (s *Stock) count(ctx context.Context, of holding) error {
	s.mutex.Lock()
	before, began := s.touch(of).added, s.db.Now()
	s.mutex.Unlock()
	var number int64
	err := s.db.ReadHeavy(ctx, database.Reader{Key: caller.System}, func(tx *database.Tx) error {
		return tx.Pipeline(database.ReadValue(&number,
			"SELECT count(*) FROM (SELECT 1 FROM "+s.kinds[of.kind].From+" LIMIT ?) AS held", of.keyID, s.bounds[of.kind]))
	})
	if err != nil {
		return err
	}
	now := s.db.Now()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	h := s.touch(of)
	h.counted, h.added = number, h.added-before
	h.countAgain = now.Add(max(stockAge, min(stockShare*now.Sub(began), time.Hour)))
	if h.added == 0 {
		delete(s.touched, of)
	}
	return nil
}

// freeIntent lets an intent that ends count for nobody.
func freeIntent(tx *database.Tx, head *Head, _ time.Time) error {
	return tx.Gorm().Model(&intentRow{}).Where("intent_no = ?", head.IntentNo).Update("made_by_key", nil).Error
}
