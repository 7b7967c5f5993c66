package server

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
	"openintent/keys"
)

// keyHouse is a server's memory of the keys of a database, with the room that keeps them. Tests turn and look by themselves.
type keyHouse struct {
	*storedKeys
	room   *countedKeys
	known  *Keys
	clock  *databasetest.Clock
	passed time.Duration // since the server began
	log    *lockedBuffer
}

// countedKeys is the room of the keys, with what a test wants to know of its use.
type countedKeys struct {
	*keys.Service

	mutex sync.Mutex
	looks int
	away  bool
	notes int
}

func (c *countedKeys) Tag(ctx context.Context) (int64, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.looks++
	if c.away {
		return 0, errors.New("the database is away")
	}
	return c.Service.Tag(ctx)
}

func (c *countedKeys) NoteUse(ctx context.Context, ids []string, at time.Time) error {
	c.notes++
	return c.Service.NoteUse(ctx, ids, at)
}

func (c *countedKeys) count() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.looks
}

func newKeyHouse(t *testing.T) *keyHouse {
	t.Helper()
	clock := databasetest.NewClock()
	db := databasetest.Open(t, database.Config{URL: "sqlite::memory:", Clock: clock.Now})
	configured, err := LoadKeys("open,one=agent-a", "")
	require.NoError(t, err)
	configured.SetRates(caller.Rates{MessagesPerSecond: 5})
	h := &keyHouse{room: &countedKeys{Service: keys.New(keys.Config{DB: db})}, known: configured, clock: clock, log: &lockedBuffer{}}
	h.storedKeys = newStoredKeys(h.room, configured.rates, clock.Now, slog.New(slog.NewTextHandler(h.log, nil)))
	h.elapsed = func() time.Duration { return h.passed }
	configured.stored = h.storedKeys
	t.Cleanup(h.looks.stop)
	return h
}

// pass lets time pass without a turn.
func (h *keyHouse) pass(d time.Duration) {
	h.clock.Advance(d)
	h.passed += d
}

func (h *keyHouse) operator() context.Context {
	return caller.NewContext(context.Background(), caller.Caller{Agent: caller.Operator, IsOperator: true})
}

func (h *keyHouse) create(t *testing.T, req *openintentv1.CreateKeyRequest) *openintentv1.IssuedKey {
	t.Helper()
	req.Label = "for a test"
	issued, err := h.room.CreateKey(h.operator(), req)
	require.NoError(t, err)
	return issued
}

func (h *keyHouse) rotate(t *testing.T, key *openintentv1.IssuedKey, graceSeconds int32) *openintentv1.IssuedKey {
	t.Helper()
	issued, err := h.room.RotateKey(h.operator(), &openintentv1.RotateKeyRequest{KeyId: key.GetKey().GetId(), GraceSeconds: graceSeconds})
	require.NoError(t, err)
	return issued
}

func (h *keyHouse) revoke(t *testing.T, key *openintentv1.IssuedKey) {
	t.Helper()
	_, err := h.room.RevokeKey(h.operator(), &openintentv1.RevokeKeyRequest{KeyId: key.GetKey().GetId()})
	require.NoError(t, err)
}

// call identifies a caller, and returns why its calls end once they have to.
func (h *keyHouse) call(t *testing.T, secret string, headers ...string) (who caller.Caller, ended func() error, err error) {
	t.Helper()
	who, key, err := h.known.identify(t.Context(), metadata.Pairs(append(headers, "x-api-key", secret)...))
	return who, func() error { return context.Cause(key.valid) }, err
}

func (h *keyHouse) turns(t *testing.T) {
	t.Helper()
	require.NoError(t, h.maintain(t.Context()))
}

func TestWhoCallsWithAKeyOfTheDatabase(t *testing.T) {
	h := newKeyHouse(t)
	rate := int64(3)
	several := h.create(t, &openintentv1.CreateKeyRequest{Agents: []string{"a", "b"}, Roles: []string{"r"}, BytesPerSecond: &rate})
	operator := h.create(t, &openintentv1.CreateKeyRequest{Operator: true, Roles: []string{"*"}})
	person := h.create(t, &openintentv1.CreateKeyRequest{Agents: []string{"carol"}, Human: true})

	who, _, err := h.call(t, several.GetSecret(), "x-agent-id", "b")
	require.NoError(t, err)
	require.Equal(t, "b", who.Agent)
	require.Equal(t, several.GetKey().GetId(), who.KeyID)
	require.Equal(t, []string{"a", "b"}, who.KeyAgents)
	require.Equal(t, []string{"r"}, who.KeyRoles)
	require.Equal(t, caller.Rates{MessagesPerSecond: 5, BytesPerSecond: 3}, who.Quota.Rates())
	require.False(t, who.IsOperator || who.Human || who.Compatibility)
	_, _, err = h.call(t, several.GetSecret())
	require.ErrorIs(t, err, errAgentNeeded)
	_, _, err = h.call(t, several.GetSecret(), "x-agent-id", "c")
	require.ErrorIs(t, err, errAgentNotBound)

	who, _, err = h.call(t, operator.GetSecret())
	require.NoError(t, err)
	require.True(t, who.IsOperator)
	who, _, err = h.call(t, operator.GetSecret(), "x-agent-id", "zoe")
	require.NoError(t, err)
	require.Equal(t, "zoe", who.Agent)
	require.False(t, who.IsOperator)

	who, _, err = h.call(t, person.GetSecret())
	require.NoError(t, err)
	require.Equal(t, "carol", who.Agent)
	require.True(t, who.Human)
	require.False(t, who.IsOperator)
	_, _, err = h.call(t, person.GetSecret(), "x-agent-id", "operator")
	require.ErrorIs(t, err, errAgentReserved)
}

// A server that uses configured keys alone never looks at the database's. Neither does one that is shown other texts.
func TestConfiguredKeysCostNoLook(t *testing.T) {
	h := newKeyHouse(t)
	for _, secret := range []string{"open", "one"} {
		_, _, err := h.call(t, secret)
		require.NoError(t, err)
	}
	for _, secret := range []string{"guessed", "oi_", "oi_" + strings.Repeat("0", 49)} {
		_, _, err := h.call(t, secret)
		require.ErrorIs(t, err, errKeyUnknown)
	}
	for range 10 {
		h.turns(t)
	}
	require.Zero(t, h.room.count())
}

func TestAKeyThatIsRememberedCostsNoLook(t *testing.T) {
	h := newKeyHouse(t)
	key := h.create(t, &openintentv1.CreateKeyRequest{Agents: []string{"a"}})
	for range 100 {
		_, _, err := h.call(t, key.GetSecret())
		require.NoError(t, err)
	}
	require.Equal(t, 1, h.room.count())
	h.turns(t)
	require.Equal(t, 2, h.room.count(), "each turn looks once")
}

// Guesses share looks, however many there are, and leave nothing in memory.
func TestGuessesShareLooks(t *testing.T) {
	h := newKeyHouse(t)
	first := h.create(t, &openintentv1.CreateKeyRequest{Agents: []string{"a"}})
	key := h.rotate(t, first, 0)
	guess := first.GetSecret() // has the form of a secret, and is none
	var guessers sync.WaitGroup
	for range 500 {
		guessers.Go(func() {
			for range 4 {
				_, err := h.known.Identify(t.Context(), metadata.Pairs("x-api-key", guess))
				if !errors.Is(err, errKeyUnknown) {
					t.Error(err)
				}
			}
		})
	}
	guessers.Wait()
	require.Less(t, h.room.count(), 500, "2,000 guesses")
	require.Len(t, h.storedKeys.known.Load().secrets, 1)
	_, _, err := h.call(t, key.GetSecret())
	require.NoError(t, err)
}

// What changed is known after the next run, also if another server changed it.
func TestChangesEndWhatBeganBefore(t *testing.T) {
	h := newKeyHouse(t)
	revoked := h.create(t, &openintentv1.CreateKeyRequest{Agents: []string{"a"}})
	rotated := h.create(t, &openintentv1.CreateKeyRequest{Agents: []string{"b"}})
	stays := h.create(t, &openintentv1.CreateKeyRequest{Agents: []string{"c"}})
	ended := make(map[*openintentv1.IssuedKey]func() error)
	for _, key := range []*openintentv1.IssuedKey{revoked, rotated, stays} {
		_, why, err := h.call(t, key.GetSecret())
		require.NoError(t, err)
		ended[key] = why
	}
	before, _, err := h.call(t, rotated.GetSecret())
	require.NoError(t, err)
	h.revoke(t, revoked)
	second := h.rotate(t, rotated, 0)
	h.turns(t)
	for _, key := range []*openintentv1.IssuedKey{revoked, rotated} {
		require.ErrorIs(t, ended[key](), errKeyRemoved)
		_, _, err := h.call(t, key.GetSecret())
		require.ErrorIs(t, err, errKeyUnknown)
	}
	require.NoError(t, ended[stays]())
	after, _, err := h.call(t, second.GetSecret())
	require.NoError(t, err)
	require.Same(t, before.Quota, after.Quota, "a key has one quota, whatever its secret")
}

func TestAFormerSecretIsAcceptedDuringItsGrace(t *testing.T) {
	h := newKeyHouse(t)
	first := h.create(t, &openintentv1.CreateKeyRequest{Agents: []string{"a"}})
	_, ended, err := h.call(t, first.GetSecret())
	require.NoError(t, err)
	second := h.rotate(t, first, 60)
	h.turns(t)
	require.NoError(t, ended(), "what began under the former secret goes on")
	h.pass(59 * time.Second)
	h.turns(t)
	for _, secret := range []string{first.GetSecret(), second.GetSecret()} {
		_, _, err := h.call(t, secret)
		require.NoError(t, err)
	}
	require.NoError(t, ended())
	h.pass(time.Second)
	_, _, err = h.call(t, first.GetSecret())
	require.ErrorIs(t, err, errKeyUnknown, "not even until the next run")
	h.turns(t)
	require.ErrorIs(t, ended(), errKeyRemoved)
	_, _, err = h.call(t, second.GetSecret())
	require.NoError(t, err)
}

func TestAKeyEndsWhenItExpires(t *testing.T) {
	h := newKeyHouse(t)
	request := &openintentv1.CreateKeyRequest{Agents: []string{"a"}}
	request.ExpiresAt = timestamppb.New(h.clock.Now().Add(time.Minute))
	key := h.create(t, request)
	_, ended, err := h.call(t, key.GetSecret())
	require.NoError(t, err)
	h.pass(59 * time.Second)
	h.turns(t)
	require.NoError(t, ended())
	h.pass(time.Second)
	_, _, err = h.call(t, key.GetSecret())
	require.ErrorIs(t, err, errKeyUnknown)
	h.room.away = true
	h.turns(t)
	require.ErrorIs(t, ended(), errKeyRemoved, "also while the database is away")
}

// A wait that is denied after its key was over says that the key is over, also before the next run. Other failures stay.
func TestAWaitUnderAnEndedKeyIsNotDenied(t *testing.T) {
	h := newKeyHouse(t)
	denied, failed := fault.New(fault.Denied, "NOT_A_MEMBER", "Not a member."), fault.New(fault.Conflict, "CHANNEL_CLOSED", "Closed.")
	request := &openintentv1.CreateKeyRequest{Agents: []string{"a"}}
	request.ExpiresAt = timestamppb.New(h.clock.Now().Add(time.Minute))
	expires, revoked := h.create(t, request), h.create(t, &openintentv1.CreateKeyRequest{Agents: []string{"b"}})
	for secret, end := range map[string]func(){
		expires.GetSecret(): func() { h.pass(time.Minute) },
		revoked.GetSecret(): func() { h.revoke(t, revoked); h.turns(t) },
	} {
		_, key, err := h.known.identify(t.Context(), metadata.Pairs("x-api-key", secret))
		require.NoError(t, err)
		require.ErrorIs(t, h.known.orEnded(key, denied), denied)
		end()
		require.ErrorIs(t, h.known.orEnded(key, denied), errKeyRemoved)
		require.ErrorIs(t, h.known.orEnded(key, failed), failed)
		require.NoError(t, h.known.orEnded(key, nil))
	}
	require.ErrorIs(t, h.known.orEnded(nil, denied), denied, "a call that does not wait")
}

// While the database is away, the keys that are remembered go on for a minute. Then nobody is told that a key is unknown.
func TestKeysOutliveTheDatabaseForAMinute(t *testing.T) {
	h := newKeyHouse(t)
	key := h.create(t, &openintentv1.CreateKeyRequest{Agents: []string{"a"}})
	former := key.GetSecret()
	key = h.rotate(t, key, 0)
	_, ended, err := h.call(t, key.GetSecret())
	require.NoError(t, err)
	h.room.away = true

	h.pass(keyTrust)
	h.turns(t)
	_, _, err = h.call(t, key.GetSecret())
	require.NoError(t, err)
	_, _, err = h.call(t, former)
	require.Equal(t, fault.Unavailable, fault.From(err).Kind, "it may be a key that is not remembered")
	_, _, err = h.call(t, "guessed")
	require.ErrorIs(t, err, errKeyUnknown, "it can be no key of the database")
	require.NoError(t, ended())

	h.pass(time.Millisecond)
	_, _, err = h.call(t, key.GetSecret())
	require.ErrorIs(t, err, errDatabaseAway)
	require.ErrorIs(t, ended(), errDatabaseAway)
	require.Contains(t, h.log.String(), "could not be checked for too long")
	_, _, err = h.call(t, "open")
	require.NoError(t, err, "configured keys need no database")

	h.room.away = false
	_, _, err = h.call(t, key.GetSecret())
	require.NoError(t, err)
}

func TestTheLastUseIsNotedOnceAMinute(t *testing.T) {
	h := newKeyHouse(t)
	key := h.create(t, &openintentv1.CreateKeyRequest{Agents: []string{"a"}})
	lastUse := func() time.Time {
		found, err := h.room.GetKey(h.operator(), &openintentv1.GetKeyRequest{KeyId: key.GetKey().GetId()})
		require.NoError(t, err)
		return found.GetLastUsedAt().AsTime()
	}
	began := h.clock.Now()
	use := func() {
		_, _, err := h.call(t, key.GetSecret())
		require.NoError(t, err)
		h.turns(t)
	}
	for range 60 {
		use()
		h.pass(time.Second)
	}
	require.Equal(t, 1, h.room.notes)
	require.Equal(t, began, lastUse())
	key2 := h.rotate(t, key, 60)
	use()
	require.Equal(t, 2, h.room.notes)
	require.Equal(t, began.Add(time.Minute), lastUse())
	_, _, err := h.call(t, key2.GetSecret())
	require.NoError(t, err)
	h.turns(t)
	require.Equal(t, 2, h.room.notes, "both secrets are one key")
}

// A read-only key may call what reads, and nothing else; a key that may write calls everything.
func TestAReadOnlyKeyOnlyReads(t *testing.T) {
	h := newKeyHouse(t)
	reader := h.create(t, &openintentv1.CreateKeyRequest{Agents: []string{"a"}, ReadOnly: true})
	writer := h.create(t, &openintentv1.CreateKeyRequest{Agents: []string{"a"}})
	through, err := newInterceptors(t.Context(), h.known, testLimits(), newMetrics(), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	for name, method := range through.methods {
		if method.access == public {
			continue
		}
		admit := func(secret string) error {
			ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs("x-api-key", secret))
			_, release, err := through.admit(ctx, through.observer.begin(ctx, name, method, false))
			if err == nil {
				release()
			}
			return err
		}
		require.NoError(t, admit(writer.GetSecret()), name)
		if method.effect == reads {
			require.NoError(t, admit(reader.GetSecret()), name)
		} else {
			require.ErrorIs(t, admit(reader.GetSecret()), errKeyReadOnly, name)
		}
	}
}

// Keys of the database are read again after a change of the configured ones, also if the first try fails: an invite pauses with a key that is
// taken out of the configuration.
func TestKeysAreReadAgainAfterALookThatFailed(t *testing.T) {
	h := newKeyHouse(t)
	require.NoError(t, h.look(t.Context()))
	before := h.storedKeys.known.Load()
	require.NoError(t, h.look(t.Context()))
	require.Same(t, before, h.storedKeys.known.Load(), "nothing has changed")
	h.stale.Store(true)
	h.room.away = true
	require.Error(t, h.look(t.Context()))
	h.room.away = false
	require.NoError(t, h.look(t.Context()))
	require.NotSame(t, before, h.storedKeys.known.Load())
}
