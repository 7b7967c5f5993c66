package server

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"go.yaml.in/yaml/v3"
	"golang.org/x/sync/singleflight"

	"openintent/agents"
	"openintent/internal/caller"
	"openintent/keys"
	"openintent/sessions"
)

// DevelopmentKey is the documented key that a server without configured keys accepts on loopback.
const DevelopmentKey = "dev-key-001"

// Keys are the API keys that the server knows. It keeps only their SHA-256 digests. Identify may be called while
// Reload replaces them.
type Keys struct {
	// stored are the keys of the database, beside the configured ones; nil without a database.
	stored *storedKeys
	// tokens and certificates prove who calls as keys do; nil if they are not configured.
	tokens       *tokens
	certificates *certificates
	// unreplaced refuses unknown keys; nil says nothing in a log.
	unreplaced *unreplacedKeys
	// sessions are those of the console; nil without a console.
	sessions *sessions.Service
	// renewals lets calls of one session share what an identity provider says anew.
	renewals singleflight.Group
	// expiries end what lasts under a token, a certificate or a session.
	expiries expiries

	fixed []apiKey
	path  string
	// rates apply to keys that have no rates configured.
	rates caller.Rates
	// known holds the fixed keys and those of the file, as of the last successful load.
	known atomic.Pointer[[]apiKey]
}

// apiKey is what the server keeps about one secret, of a configured key or of a key of the database. A token and a certificate
// count as keys, too.
type apiKey struct {
	digest [sha256.Size]byte
	// id identifies the key without revealing it, and stays the same across restarts and rotations.
	id string
	// subject is that of a token or a certificate (caller.Caller).
	subject string
	// session is the id of the console's session that has this key; "" without one.
	session string
	keySettings
	quota *caller.Quota

	// until is when the secret expires; zero for never. used is when it was last noted as used. Configured keys have
	// neither.
	until time.Time
	used  *atomic.Int64
	// over refuses what comes after until, and ends what lasts until then; nil for a secret.
	over error

	// valid is cancelled, through end and with the reason for which calls end, when the secret no longer means what it
	// means here.
	valid context.Context
	end   context.CancelCauseFunc
}

func (k apiKey) expired(now time.Time) bool { return !k.until.IsZero() && !k.until.After(now) }

// keySettings are what is set for a key apart from its secret.
type keySettings struct {
	// bound is true for a key that acts only as its agents. Another key acts as any agent or as the operator.
	bound  bool
	agents []string
	// roles are the roles that the key's agents may take; caller.AnyRole among them stands for all roles.
	roles         []string
	compatibility bool
	// readOnly keys may change nothing, which no configured key is. A human key is a person's, who has one agent's name.
	readOnly, human bool
	// scope is where the key works; nil is everywhere.
	scope *caller.Scope
	// invite is set for an invite; its agents are the guests that have come.
	invite *keys.Key
	rates  ownRates
}

// same reports whether the other key is this one with the same settings. Rates do not count: a change of rates must
// not cut anyone off.
func (k apiKey) same(other apiKey) bool {
	return k.digest == other.digest && k.id == other.id && k.bound == other.bound && k.sameAgents(other) &&
		slices.Equal(k.roles, other.roles) && k.compatibility == other.compatibility && k.readOnly == other.readOnly &&
		k.human == other.human && k.scope.Same(other.scope)
}

// sameAgents reports whether the other key acts as the same agents. A further guest of an invite changes nothing for those that
// have come before.
func (k apiKey) sameAgents(other apiKey) bool {
	return k.invite != nil && other.invite != nil || slices.Equal(k.agents, other.agents)
}

// LoadKeys reads keys from a comma-separated list (as in OPENINTENT_API_KEYS) and from a key file; either may be
// empty. Its errors are sentences for the operator and never contain a key.
func LoadKeys(list, path string) (*Keys, error) {
	loaded := &Keys{path: path}
	if strings.TrimSpace(list) != "" {
		for i, entry := range strings.Split(list, ",") {
			key, err := parseKey(entry)
			if err != nil {
				return nil, fmt.Errorf("API key %d of the list: %w", i+1, err)
			}
			loaded.fixed = append(loaded.fixed, key)
		}
	}
	if err := loaded.Reload(); err != nil {
		return nil, err
	}
	return loaded, nil
}

// Reload reads the key file again. On an error the keys stay as they were. When a key is gone or its settings have
// changed, the waits and streams that began under it end; other calls under it run to their end. What was made with a key that is
// gone pauses (keys/makers.go). Only one Reload may run at a time.
func (k *Keys) Reload() error {
	known := slices.Clone(k.fixed)
	if k.path != "" {
		fromFile, err := readKeyFile(k.path)
		if err != nil {
			return fmt.Errorf("key file %s: %w", k.path, err)
		}
		known = append(known, fromFile...)
	}
	for i, key := range known {
		if slices.ContainsFunc(known[:i], func(earlier apiKey) bool { return earlier.digest == key.digest }) {
			return fmt.Errorf("the same API key is configured twice (it is number %d); keep one of the two", i+1)
		}
	}
	k.replace(known)
	return nil
}

// replace makes these keys the known ones. Unchanged keys stay valid. The others are ended once nobody can find them
// any more.
func (k *Keys) replace(known []apiKey) {
	var before []apiKey
	if loaded := k.known.Load(); loaded != nil {
		before = *loaded
	}
	for i, key := range known {
		if at := slices.IndexFunc(before, key.same); at >= 0 {
			known[i] = before[at]
			known[i].rates = key.rates
		} else {
			known[i].valid, known[i].end = context.WithCancelCause(context.Background())
			known[i].quota = caller.NewQuota(caller.Rates{})
		}
		known[i].quota.Set(known[i].rates.or(k.rates))
	}
	k.known.Store(&known)
	for _, key := range before {
		if !slices.ContainsFunc(known, key.same) {
			key.end(errKeyRemoved)
		}
	}
	if k.stored != nil {
		k.stored.stale.Store(true) // invites of a key that is gone pause
	}
}

// SetRates bounds what each key without rates of its own may send. It must be called before the keys are used.
func (k *Keys) SetRates(rates caller.Rates) {
	k.rates = rates
	k.replace(slices.Clone(*k.known.Load()))
}

// Count returns the number of configured keys.
func (k *Keys) Count() int { return len(*k.known.Load()) }

// hasID reports whether a configured key has an id.
func (k *Keys) hasID(id string) bool {
	return slices.ContainsFunc(*k.known.Load(), func(key apiKey) bool { return key.id == id })
}

// find returns the configured key that was presented, or nil. It compares every key, each in constant time, so the duration does
// not reveal how close a guess came.
func (k *Keys) find(presented string) *apiKey {
	digest := sha256.Sum256([]byte(presented))
	known := *k.known.Load()
	var found *apiKey
	for i := range known {
		if subtle.ConstantTimeCompare(known[i].digest[:], digest[:]) == 1 {
			found = &known[i]
		}
	}
	return found
}

// parseKey reads one key of the short form: KEY or KEY=agent-a|agent-b, either of them followed by options.
func parseKey(entry string) (apiKey, error) {
	text, options, _ := strings.Cut(strings.TrimSpace(entry), ";")
	var settings keySettings
	secret, agentList, bound := strings.Cut(text, "=")
	if bound {
		if strings.Contains(agentList, "=") || agentList == "" {
			return apiKey{}, errors.New("one = and the agents' ids may follow the key; " +
				"a key that itself holds = belongs in a mapping in the key file")
		}
		settings.agents = strings.Split(agentList, "|")
	}
	if err := settings.readOptions(options); err != nil {
		return apiKey{}, err
	}
	return makeKey(secret, settings)
}

func makeKey(secret string, settings keySettings) (apiKey, error) {
	if secret == "" {
		return apiKey{}, errors.New("the key is empty")
	}
	if strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return apiKey{}, errors.New("the key may hold printable ASCII characters only, without spaces")
	}
	for i, agent := range settings.agents {
		if problem := agentProblem(agent); problem != "" {
			return apiKey{}, fmt.Errorf("agent %q: %s", agent, problem)
		}
		if caller.Reserved(agent) {
			return apiKey{}, fmt.Errorf("agent %q: the name is reserved; choose another", agent)
		}
		if caller.IsGuest(agent) {
			return apiKey{}, fmt.Errorf("agent %q: names that begin with %s are for invites; choose another", agent, caller.GuestPrefix)
		}
		if slices.Contains(settings.agents[:i], agent) {
			return apiKey{}, fmt.Errorf("agent %q is named twice", agent)
		}
	}
	for _, role := range settings.roles {
		if role == "" {
			return apiKey{}, errors.New("a role's id must not be empty")
		}
		if err := agents.CheckRole("roles", role); err != nil {
			return apiKey{}, fmt.Errorf("role %q: it has at most %d characters and no control characters", role, caller.MaxNameLength)
		}
	}
	if err := checkScope(settings); err != nil {
		return apiKey{}, err
	}
	settings.bound = len(settings.agents) > 0
	id := sha256.Sum256([]byte("openintent key id:" + secret))
	return apiKey{digest: sha256.Sum256([]byte(secret)), id: hex.EncodeToString(id[:8]), keySettings: settings}, nil
}

// keyFields are the fields that a mapping in the key file may have.
const keyFields = "key, agents, roles, intents, channels, sdk, human, messages_per_second, bytes_per_second, rows_per_second, stored_bytes_per_second"

// keyFileItem is one item of the key file: the short form as a string, or a mapping.
type keyFileItem struct {
	Key    string    `yaml:"key"`
	Agents *[]string `yaml:"agents"`
	Roles  []string  `yaml:"roles"`

	Intents  []string `yaml:"intents"`
	Channels []string `yaml:"channels"`

	SDK   bool `yaml:"sdk"`
	Human bool `yaml:"human"`

	MessagesPerSecond *int64 `yaml:"messages_per_second"`
	BytesPerSecond    *int64 `yaml:"bytes_per_second"`
	RowsPerSecond     *int64 `yaml:"rows_per_second"`

	StoredBytesPerSecond *int64 `yaml:"stored_bytes_per_second"`
}

func readKeyFile(path string) ([]apiKey, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("it cannot be read: %w", err)
	}
	var items []yaml.Node
	if err := yaml.Unmarshal(text, &items); err != nil {
		// The decoder's own message may quote the file, and with it a key.
		return nil, errors.New("it is not a YAML list of keys")
	}
	found := make([]apiKey, 0, len(items))
	for _, item := range items {
		key, err := parseKeyFileItem(&item)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", item.Line, err)
		}
		found = append(found, key)
	}
	if len(found) == 0 {
		return nil, errors.New("it holds no keys")
	}
	return found, nil
}

func parseKeyFileItem(item *yaml.Node) (apiKey, error) {
	if item.Kind == yaml.ScalarNode {
		return parseKey(item.Value)
	}
	if item.Kind != yaml.MappingNode {
		return apiKey{}, errors.New("a key is a string or a mapping of " + keyFields)
	}
	for i := 0; i < len(item.Content); i += 2 {
		if name := item.Content[i].Value; !slices.Contains(strings.Split(keyFields, ", "), name) {
			return apiKey{}, fmt.Errorf("%q is unknown; a key has %s", name, keyFields)
		}
	}
	var fields keyFileItem
	if err := item.Decode(&fields); err != nil {
		return apiKey{}, errors.New("key is a string, agents, roles, intents and channels are lists of strings, sdk and human are true or false, " +
			"messages_per_second, bytes_per_second, rows_per_second and stored_bytes_per_second are whole numbers")
	}
	settings := keySettings{
		roles: fields.Roles, compatibility: fields.SDK, human: fields.Human, scope: caller.NewScope(fields.Intents, fields.Channels),
	}
	if fields.Agents != nil {
		if settings.agents = *fields.Agents; len(settings.agents) == 0 {
			return apiKey{}, errors.New("agents is empty; name one, or leave agents out for a key that is not bound")
		}
	}
	if settings.human && len(settings.agents) != 1 {
		return apiKey{}, errors.New("human is true for the key of a person, who has one agent's name; list exactly one agent")
	}
	settings.rates = ownRates{fields.MessagesPerSecond, fields.BytesPerSecond, fields.RowsPerSecond, fields.StoredBytesPerSecond}
	if err := settings.rates.check(); err != nil {
		return apiKey{}, err
	}
	return makeKey(fields.Key, settings)
}
