package server

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"openintent/internal/caller"
	"openintent/keys"
)

const (
	// keyPoll is how often a server that accepts keys of the database looks whether they have changed.
	keyPoll = 500 * time.Millisecond
	// keyTrust is for how long a server goes by what it last saw, while it cannot look.
	keyTrust = time.Minute
	// keyUseNoted is how often the last use of one key is noted at most.
	keyUseNoted = time.Minute
)

// keySource is the room that keeps the keys of the database.
type keySource interface {
	// Tag returns the keys' tag, which is another one after each change.
	Tag(ctx context.Context) (int64, error)
	// Live returns all keys that are accepted now, with their tag.
	Live(ctx context.Context) ([]*keys.Key, int64, error)
	// NoteUse notes that keys were used.
	NoteUse(ctx context.Context, ids []string, at time.Time) error
}

// storedKeys are the keys of the database as this server remembers them: all of them, since their number is bounded. So a key
// costs no query, and a guess costs no more than a share in a look at one row (keyLooks). A nil storedKeys knows no keys.
type storedKeys struct {
	source keySource
	guests guestRoom
	rates  caller.Rates
	// now is the database's clock, by which keys expire. elapsed is the time since the server began; it never goes back.
	now     func() time.Time
	elapsed func() time.Duration
	logger  *slog.Logger
	looks   *keyLooks

	known atomic.Pointer[knownKeys]
	// stale is true when the keys must be read again although their tag is the same, because the configured keys have changed.
	stale atomic.Bool
	// seenAt is when the last look that succeeded began.
	seenAt atomic.Int64

	mutex sync.Mutex
	uses  map[string]bool // the ids of keys whose use is to be noted
}

// knownKeys are the live keys of one tag, by the digests of their secrets and by their ids.
type knownKeys struct {
	tag     int64
	secrets map[keys.Digest]*apiKey
	ids     map[string][]*apiKey
}

func newKnownKeys(tag int64, secrets map[keys.Digest]*apiKey) *knownKeys {
	known := &knownKeys{tag: tag, secrets: secrets, ids: make(map[string][]*apiKey, len(secrets))}
	for _, key := range secrets {
		known.ids[key.id] = append(known.ids[key.id], key)
	}
	return known
}

func newStoredKeys(source keySource, rates caller.Rates, now func() time.Time, logger *slog.Logger) *storedKeys {
	began := time.Now()
	s := &storedKeys{
		source: source, rates: rates, now: now, logger: logger, uses: make(map[string]bool),
		elapsed: func() time.Duration { return time.Since(began) },
	}
	s.looks = newKeyLooks(s.look)
	return s
}

// find returns the key with a secret, or nil if no key has it. It fails if that cannot be known now.
func (s *storedKeys) find(ctx context.Context, presented string) (*apiKey, error) {
	if s == nil {
		return nil, nil
	}
	digest := keys.DigestOf(presented)
	return s.seek(ctx, func() *apiKey { return s.get(digest) }, func() bool { return keys.IsSecret(presented) })
}

// seek returns the key that get finds, and notes its use. If get finds none, or the last look at the database is too old, it looks again
// first, provided that there can be such a key.
func (s *storedKeys) seek(ctx context.Context, get func() *apiKey, canBe func() bool) (*apiKey, error) {
	key := get()
	if key == nil || s.elapsed()-time.Duration(s.seenAt.Load()) > keyTrust {
		if !canBe() {
			return nil, nil
		}
		if err := s.looks.after(ctx); err != nil {
			return nil, err
		}
		key = get()
	}
	if key != nil {
		s.use(key)
	}
	return key, nil
}

// get returns the key that is remembered with a secret, unless it has expired.
func (s *storedKeys) get(digest keys.Digest) *apiKey {
	known := s.known.Load()
	if known == nil {
		return nil
	}
	key := known.secrets[digest]
	if key == nil || key.expired(s.now()) {
		return nil
	}
	return key
}

// use remembers that a key was used, once in a while.
func (s *storedKeys) use(key *apiKey) {
	now, last := s.now().UnixMicro(), key.used.Load()
	if ago := time.Duration(now-last) * time.Microsecond; ago >= 0 && ago < keyUseNoted || !key.used.CompareAndSwap(last, now) {
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.uses[key.id] = true
}

// maintain is the server's periodic work on the keys: it ends what has expired, looks whether a key has changed, and notes uses.
func (s *storedKeys) maintain(ctx context.Context) error {
	known := s.known.Load()
	if known == nil || len(known.secrets) == 0 {
		return nil
	}
	now := s.now()
	for _, key := range known.secrets {
		if key.expired(now) {
			key.end(errKeyRemoved)
		}
	}
	if err := s.looks.after(ctx); err != nil {
		return nil // what fails for long is logged when the keys are forgotten
	}
	return s.noteUses(ctx)
}

func (s *storedKeys) noteUses(ctx context.Context) error {
	s.mutex.Lock()
	ids := make([]string, 0, len(s.uses))
	for id := range s.uses {
		ids = append(ids, id)
	}
	clear(s.uses)
	s.mutex.Unlock()
	if len(ids) == 0 {
		return nil
	}
	return s.source.NoteUse(ctx, ids, s.now())
}

// look compares what is remembered with the database, and reads the keys again if they have changed. If the server has not
// been able to look for too long, it forgets all keys. keyLooks makes one look at a time.
func (s *storedKeys) look(ctx context.Context) error {
	began := s.elapsed()
	known := s.known.Load()
	tag, err := s.source.Tag(ctx)
	stale := s.stale.Swap(false)
	if err == nil && (known == nil || stale || tag != known.tag) {
		var live []*keys.Key
		if live, tag, err = s.source.Live(ctx); err == nil {
			s.replace(known, newKnownKeys(tag, s.secretsOf(live, known)), errKeyRemoved)
			stale = false
		}
	}
	if stale {
		s.stale.Store(true)
	}
	if err == nil {
		s.seenAt.Store(int64(began))
		return nil
	}
	if known != nil && s.elapsed()-time.Duration(s.seenAt.Load()) > keyTrust {
		s.logger.Warn("the API keys of the database could not be checked for too long; they are refused until they can be",
			"for", keyTrust, "error", err)
		s.replace(known, nil, errDatabaseAway)
	}
	return errDatabaseAway.Because(err)
}

// replace makes other keys the known ones, and ends what began under those that are not among them.
func (s *storedKeys) replace(before, known *knownKeys, cause error) {
	s.known.Store(known)
	if before == nil {
		return
	}
	for digest, key := range before.secrets {
		if known == nil || known.secrets[digest] == nil || !known.secrets[digest].same(*key) {
			key.end(cause)
		}
	}
}

// secretsOf returns the secrets of live keys. A secret that means the same as before stays valid without a break, and all
// secrets of a key share its quota.
func (s *storedKeys) secretsOf(live []*keys.Key, known *knownKeys) map[keys.Digest]*apiKey {
	shared := make(map[string]*apiKey)
	if known != nil {
		for _, key := range known.secrets {
			shared[key.id] = key
		}
	}
	secrets := make(map[keys.Digest]*apiKey, len(live))
	add := func(stored *keys.Key, digest keys.Digest, until time.Time) {
		key := &apiKey{digest: digest, id: stored.ID, keySettings: settingsOf(stored), until: until}
		if other := shared[stored.ID]; other != nil {
			key.quota, key.used = other.quota, other.used
		} else {
			key.quota, key.used = caller.NewQuota(caller.Rates{}), new(atomic.Int64)
			key.used.Store(stored.LastUsedAt.UnixMicro())
			shared[stored.ID] = key
		}
		key.quota.Set(key.rates.or(s.rates))
		if known != nil && known.secrets[digest] != nil && known.secrets[digest].same(*key) {
			key.valid, key.end = known.secrets[digest].valid, known.secrets[digest].end
		} else {
			key.valid, key.end = context.WithCancelCause(context.Background())
		}
		secrets[digest] = key
	}
	for _, stored := range live {
		add(stored, stored.Digest, stored.AcceptedUntil())
		if stored.Former != nil {
			add(stored, stored.Former.Digest, stored.Former.ExpiresAt)
		}
	}
	return secrets
}

func settingsOf(stored *keys.Key) keySettings {
	settings := keySettings{
		bound: !stored.Operator, agents: stored.Agents, roles: stored.Roles, readOnly: stored.ReadOnly, human: stored.Human,
		scope: stored.Scope, rates: ownRates{stored.MessagesPerSecond, stored.BytesPerSecond, stored.RowsPerSecond, stored.StoredBytesPerSecond},
	}
	if stored.Invite != nil {
		settings.invite = stored
	}
	return settings
}
