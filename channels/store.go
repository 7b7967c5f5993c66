package channels

import (
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	"gorm.io/gorm"

	"openintent/intents"
	"openintent/internal/database"
)

// AnyID in a request stands for whichever channel a message is in, where the call takes it. No channel has it for an id.
const AnyID = "-"

// idPrefix begins every channel's id; a ULID follows.
const idPrefix = "chan_"

// channelRow is a row of channels.
type channelRow struct {
	IntentNo    int64 `gorm:"primaryKey;autoIncrement:false"`
	ChannelNo   int64 `gorm:"primaryKey;autoIncrement:false"`
	ID          string
	Name        string
	TaskID      *string
	CreatedBy   string
	Policy      string
	Audit       bool
	TTLSeconds  *int64 `gorm:"column:ttl_seconds"`
	MaxMessages int64
	History     string
	TurnBudget  int64
	// OpenedThrough is 0 for a channel that was never opened.
	OpenedThrough int64
	CreatedAt     int64 `gorm:"autoCreateTime:false"`
	ClosedAt      *int64
	DeletedAt     *int64
	// Address is NULL for a channel without one.
	Address            *string
	ConversationBudget *int64
}

func (channelRow) TableName() string { return "channels" }

// madeChannelRow is a new channel. MadeByKey is NULL for one that the server makes.
type madeChannelRow struct {
	Channel   channelRow `gorm:"embedded"`
	MadeByKey *string
}

func (madeChannelRow) TableName() string { return "channels" }

// stockKind is the kind of channels that are open, of which a key holds those that were made under it.
var stockKind = intents.StockKind{
	Name: "channels", From: "channels WHERE made_by_key = ? AND closed_at IS NULL", Freed: "delete some",
}

// rules turns a row into rules without members.
func (row channelRow) rules(intentID string) Rules {
	rules := Rules{
		Key:           Key{IntentNo: row.IntentNo, ChannelNo: row.ChannelNo},
		ID:            row.ID,
		IntentID:      intentID,
		Name:          row.Name,
		CreatedBy:     row.CreatedBy,
		Policy:        Policy(row.Policy),
		Audit:         row.Audit,
		MaxMessages:   row.MaxMessages,
		History:       History(row.History),
		TurnBudget:    row.TurnBudget,
		OpenedThrough: row.OpenedThrough,
		CreatedAt:     database.Time(row.CreatedAt),
		Deleted:       row.DeletedAt != nil,

		ConversationBudget: row.ConversationBudget,
	}
	if row.TaskID != nil {
		rules.TaskID = *row.TaskID
	}
	if row.Address != nil {
		rules.Address = *row.Address
	}
	if row.TTLSeconds != nil {
		rules.TTL = time.Duration(*row.TTLSeconds) * time.Second
	}
	if row.ClosedAt != nil {
		rules.ClosedAt = database.Time(*row.ClosedAt)
	}
	return rules
}

// Located returns the key of a channel's id from the cache, if it is there; no other channel ever gets this key.
func (s *Service) Located(channelID string) (key Key, ok bool) { return s.keys.Get(channelID) }

// Locate returns the key of a channel's id, or ErrChannelNotFound for an id that no channel has. It does not check whether the
// channel is deleted; Rules does.
func (s *Service) Locate(tx *database.Tx, channelID string) (Key, error) {
	if key, ok := s.Located(channelID); ok {
		return key, nil
	}
	if _, err := ulid.ParseStrict(strings.TrimPrefix(channelID, idPrefix)); err != nil {
		return Key{}, ErrChannelNotFound
	}
	var row channelRow
	err := tx.Gorm().Select("intent_no", "channel_no").Where("id = ?", channelID).Take(&row).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return Key{}, ErrChannelNotFound
	}
	if err != nil {
		return Key{}, err
	}
	key := Key{IntentNo: row.IntentNo, ChannelNo: row.ChannelNo}
	s.keys.Add(channelID, key)
	return key, nil
}

// Rules returns a channel's rules as of an epoch of its intent, which the caller has read in this transaction's snapshot or
// under the head's lock. It returns ErrChannelNotFound for a deleted channel.
func (s *Service) Rules(tx *database.Tx, key Key, epoch int64) (*Rules, error) {
	if rules, ok := s.rules.Get(tx, key.IntentNo, epoch, key); ok {
		return rules.orNotFound()
	}
	access, err := s.intents.Rules(tx, key.IntentNo, epoch)
	if err != nil {
		return nil, err
	}
	found, err := loadRules(tx, key.IntentNo, access.IntentID(), "channel_no = ?", key.ChannelNo)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, ErrChannelNotFound
	}
	s.rules.Add(tx, key.IntentNo, epoch, key, found[0])
	return found[0].orNotFound()
}

// KeptRules returns a channel's rules as of an epoch of its intent from the cache, if they are there and the channel is not
// deleted. The caller knows from a head that the epoch was committed.
func (s *Service) KeptRules(key Key, epoch int64) (rules *Rules, ok bool) {
	rules, ok = s.rules.Kept(epoch, key)
	return rules, ok && !rules.Deleted
}

// AllRules is Rules for several channels in one round trip. It needs the rules of all their intents, and the heads as of which
// these were read. The result lacks deleted channels.
func (s *Service) AllRules(
	tx *database.Tx, keys []Key, heads intents.Heads, access map[int64]*intents.Rules,
) (map[Key]*Rules, error) {
	all := make(map[Key]*Rules, len(keys))
	var missing []Key
	for _, key := range keys {
		rules, ok := s.rules.Get(tx, key.IntentNo, heads.Get(key.IntentNo).Epoch, key)
		if !ok {
			missing = append(missing, key)
			continue
		}
		all[key] = rules
	}
	loaded, err := loadRulesOf(tx, missing, access)
	if err != nil {
		return nil, err
	}
	for _, rules := range loaded {
		s.rules.Add(tx, rules.IntentNo, heads.Get(rules.IntentNo).Epoch, rules.Key, rules)
		all[rules.Key] = rules
	}
	maps.DeleteFunc(all, func(_ Key, rules *Rules) bool { return rules.Deleted })
	return all, nil
}

// loadRulesOf reads the rules of any number of channels in one round trip. It does not use the cache.
func loadRulesOf(tx *database.Tx, keys []Key, access map[int64]*intents.Rules) ([]*Rules, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	intentNos, channelNos := columns(keys)
	in, args := tx.InRows(intentNos, channelNos)
	var rows []channelRow
	members := make(map[Key][]member)
	readInsiders, insiders := prepareInsiders(in, args...)
	err := tx.Pipeline(
		readInsiders,
		database.Statement{
			SQL: "SELECT intent_no, channel_no, id, name, task_id, created_by, policy, audit, ttl_seconds, max_messages," +
				" history, turn_budget, opened_through, created_at, closed_at, deleted_at, address, conversation_budget FROM channels WHERE " + in,
			Args: args,
			Scan: func(scanned database.Row) error {
				var row channelRow
				err := scanned.Scan(&row.IntentNo, &row.ChannelNo, &row.ID, &row.Name, &row.TaskID, &row.CreatedBy, &row.Policy,
					&row.Audit, &row.TTLSeconds, &row.MaxMessages, &row.History, &row.TurnBudget, &row.OpenedThrough,
					&row.CreatedAt, &row.ClosedAt, &row.DeletedAt, &row.Address, &row.ConversationBudget)
				rows = append(rows, row)
				return err
			},
		},
		database.Statement{
			SQL: "SELECT intent_no, channel_no, agent_id, place, added_at, joined_after FROM members WHERE " + in +
				" ORDER BY intent_no, channel_no, place",
			Args: args,
			Scan: func(scanned database.Row) error {
				var row memberRow
				err := scanned.Scan(&row.IntentNo, &row.ChannelNo, &row.AgentID, &row.Place, &row.AddedAt, &row.JoinedAfter)
				members[row.key()] = append(members[row.key()], row.member())
				return err
			},
		},
	)
	if err != nil {
		return nil, err
	}
	found := make([]*Rules, len(rows))
	for i, row := range rows {
		rules := row.rules(access[row.IntentNo].IntentID())
		rules.insiders = insiders[rules.Key]
		found[i] = newRules(rules, members[rules.Key])
	}
	return found, nil
}

func (r *Rules) orNotFound() (*Rules, error) {
	if r.Deleted {
		return nil, ErrChannelNotFound
	}
	return r, nil
}

// loadRules reads the intent's channels that meet the condition, with their members, oldest first. It does not use the cache.
func loadRules(tx *database.Tx, intentNo int64, intentID, condition string, args ...any) ([]*Rules, error) {
	found, err := loadWithoutMembers(tx, intentNo, intentID, condition, args...)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	numbers := make([]int64, len(found))
	for i, r := range found {
		numbers[i] = r.ChannelNo
	}
	members, err := loadMembers(tx, intentNo, numbers)
	if err != nil {
		return nil, err
	}
	in, arg := tx.In("channel_no", numbers)
	read, insiders := prepareInsiders("intent_no = ? AND "+in, intentNo, arg)
	if err := tx.Pipeline(read); err != nil {
		return nil, err
	}
	for i, r := range found {
		r.insiders = insiders[r.Key]
		found[i] = newRules(*r, members[r.Key])
	}
	return found, nil
}

// loadWithoutMembers is loadRules for callers that ask only whether channels are open, because an intent may have many channels
// with long member lists. Its rules list nobody.
func loadWithoutMembers(tx *database.Tx, intentNo int64, intentID, condition string, args ...any) ([]*Rules, error) {
	var rows []channelRow
	err := tx.Gorm().Where("intent_no = ?", intentNo).Where(condition, args...).Order("channel_no").Find(&rows).Error
	if err != nil {
		return nil, err
	}
	found := make([]*Rules, len(rows))
	for i, row := range rows {
		found[i] = newRules(row.rules(intentID), nil)
	}
	return found, nil
}

// insertChannel stores a new channel with its head and its members. keyID is the key under which it is made, "" for none.
func insertChannel(tx *database.Tx, r *Rules, keyID string) error {
	row := madeChannelRow{MadeByKey: database.NullText(keyID), Channel: channelRow{
		IntentNo:    r.IntentNo,
		ChannelNo:   r.ChannelNo,
		ID:          r.ID,
		Name:        r.Name,
		CreatedBy:   r.CreatedBy,
		Policy:      string(r.Policy),
		Audit:       r.Audit,
		TTLSeconds:  ttlSeconds(r.TTL),
		MaxMessages: r.MaxMessages,
		History:     string(r.History),
		TurnBudget:  r.TurnBudget,
		CreatedAt:   database.Micros(r.CreatedAt),

		ConversationBudget: r.ConversationBudget,
	}}
	if r.TaskID != "" {
		row.Channel.TaskID = &r.TaskID
	}
	if r.Address != "" {
		row.Channel.Address = &r.Address
	}
	if err := tx.Gorm().Create(&row).Error; err != nil {
		return err
	}
	intentNos, channelNos := columns([]Key{r.Key})
	head := tx.Insert("channel_heads", intentNos, channelNos,
		database.Column{Name: "message_count", Values: []int64{0}},
		database.Column{Name: "floor", Values: []int64{0}})
	return tx.Pipeline(append(head, insertMembers(tx, r.Key, r.members)...)...)
}

// updateChannel stores the settings of a channel that a manager may change, without the members.
func updateChannel(tx *database.Tx, r *Rules) error {
	return tx.Gorm().Model(&channelRow{IntentNo: r.IntentNo, ChannelNo: r.ChannelNo}).Updates(map[string]any{
		"policy":         string(r.Policy),
		"audit":          r.Audit,
		"ttl_seconds":    ttlSeconds(r.TTL),
		"max_messages":   r.MaxMessages,
		"history":        string(r.History),
		"turn_budget":    r.TurnBudget,
		"opened_through": r.OpenedThrough,

		"conversation_budget": r.ConversationBudget,
	}).Error
}

// markDeleted hides a closed channel from clients and clears its member list, so that departures ignore it.
func markDeleted(tx *database.Tx, key Key, at time.Time) error {
	err := tx.Gorm().Model(&channelRow{IntentNo: key.IntentNo, ChannelNo: key.ChannelNo}).
		Update("deleted_at", database.Micros(at)).Error
	if err != nil {
		return err
	}
	return tx.Pipeline(clearMembers(key), clearInsiders(key))
}
