package messaging

import (
	"crypto/sha256"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"openintent/caller"
	"openintent/fault"
	"openintent/fault/faulttest"
	"openintent/jsonvalue"
)

var someTime = time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)

const someMessageID = "msg_01ARZ3NDEKTSV4RRFFQ69G5FAV"

func draftBy(sender string) *draft {
	return &draft{sender: sender, by: caller.Caller{Agent: sender}, payload: jsonvalue.Object("{}"), messageType: TypeNotify}
}

func TestDraftRulesOfTypeTargetAndCorrelation(t *testing.T) {
	long := strings.Repeat("é", 256)
	for _, row := range []struct {
		kind        Type
		target      string
		correlation string
		badField    string // empty: accepted
	}{
		{TypeRequest, "bob", "", ""},
		{TypeRequest, "role:tester", "", ""},
		{TypeRequest, "role:a/b", "", ""},    // a role's id is not an agent's
		{TypeRequest, "role:system", "", ""}, // nor are agents' reserved names reserved for roles
		{TypeRequest, long, "", ""},
		{TypeRequest, "", "", "to"},
		{TypeRequest, "*", "", "to"},
		{TypeRequest, "alice", "", "to"},
		{TypeRequest, "role:", "", "to"},
		{TypeRequest, "role:a\x07", "", "to"},
		{TypeRequest, "a/b", "", "to"},
		{TypeRequest, "a\x00b", "", "to"},
		{TypeRequest, "system", "", "to"},
		{TypeRequest, "operator", "", "to"},
		{TypeRequest, long + "x", "", "to"},
		{TypeRequest, "bob", someMessageID, "correlation_id"},
		{TypeNotify, "", "", ""},
		{TypeNotify, "*", "", ""},
		{TypeNotify, "bob", "", ""},
		{TypeNotify, "role:tester", "", ""},
		{TypeNotify, "alice", "", "to"},
		{TypeNotify, "", someMessageID, "correlation_id"},
		{TypeBroadcast, "", "", ""},
		{TypeBroadcast, "*", "", ""},
		{TypeBroadcast, "bob", "", "to"},
		{TypeBroadcast, "role:tester", "", "to"},
		{TypeBroadcast, "", someMessageID, "correlation_id"},
		{TypeResponse, "", someMessageID, ""},
		{TypeResponse, "bob", someMessageID, ""},
		{TypeResponse, "", "", "correlation_id"},
		{TypeResponse, "bob", "", "correlation_id"},
	} {
		d := draftBy("alice")
		d.messageType, d.target, d.correlationID = row.kind, row.target, row.correlation
		err := d.check(1 << 10)
		if row.badField == "" {
			require.NoError(t, err, "%s to %q", row.kind, row.target)
		} else {
			require.Error(t, err, "%s to %q", row.kind, row.target)
			faulttest.RequireBadField(t, err, row.badField)
		}
	}
}

func TestBroadcastIsAlwaysToEveryone(t *testing.T) {
	d := draftBy("alice")
	d.messageType = TypeBroadcast
	require.NoError(t, d.check(1<<10))
	require.Equal(t, "*", d.target)

	d = draftBy("alice")
	require.NoError(t, d.check(1<<10))
	require.Empty(t, d.target, "a notify keeps an absent address")
}

func TestPayloadAndMetadataAreBoundedTogether(t *testing.T) {
	object := func(size int) jsonvalue.Object {
		return jsonvalue.Object(`{"a":"` + strings.Repeat("x", size-8) + `"}`)
	}
	d := draftBy("alice")
	d.payload, d.metadata = object(60), object(40)
	require.Equal(t, 100, len(d.payload)+len(d.metadata))
	require.NoError(t, d.check(100))
	faulttest.Require(t, d.check(99), fault.TooLarge, "PAYLOAD_TOO_LARGE")
}

func TestNamesThatOnlyTheOperatorCanGive(t *testing.T) {
	for name, accepted := range map[string]bool{
		"bob": true, "operator": true, "system": false, "*": false, "role:x": false, "a/b": false, "a\x00": false, "a\nb": false,
	} {
		d := draftBy(name)
		d.by = caller.Caller{Agent: caller.Operator, IsOperator: true}
		if accepted {
			require.NoError(t, d.check(100), name)
		} else {
			faulttest.RequireBadField(t, d.check(100), "sender")
		}
	}
}

func TestIdempotencyKeyIsText(t *testing.T) {
	d := draftBy("alice")
	d.key = "a\x00b"
	faulttest.RequireBadField(t, d.check(100), "idempotency_key")
}

func sealed(t require.TestingT, change func(*draft)) [sha256.Size]byte {
	d := &draft{
		id: newMessageID(), messageType: TypeRequest, target: "bob", key: "k", sender: "alice",
		payload: jsonvalue.Object(`{"a":1}`), metadata: jsonvalue.Object(`{"b":2}`),
	}
	change(d)
	require.NoError(t, d.seal())
	return d.fingerprint
}

func TestFingerprintTellsMessagesApart(t *testing.T) {
	changes := map[string]func(*draft){
		"the first":                func(*draft) {},
		"another type":             func(d *draft) { d.messageType = TypeNotify },
		"another target":           func(d *draft) { d.target = "rob" },
		"no target":                func(d *draft) { d.target = "" },
		"a correlation":            func(d *draft) { d.correlationID = someMessageID },
		"target and correlation":   func(d *draft) { d.target, d.correlationID = "bo", "b" },
		"correlation for target":   func(d *draft) { d.target, d.correlationID = "", "bob" },
		"another payload":          func(d *draft) { d.payload = jsonvalue.Object(`{"a":2}`) },
		"another metadata":         func(d *draft) { d.metadata = jsonvalue.Object(`{"b":1}`) },
		"payload and metadata":     func(d *draft) { d.payload, d.metadata = d.metadata, d.payload },
		"everything in metadata":   func(d *draft) { d.payload, d.metadata = nil, jsonvalue.Object(`{"a":1,"b":2}`) },
		"an expiry":                func(d *draft) { d.expiresAt = someTime },
		"another expiry":           func(d *draft) { d.expiresAt = someTime.Add(time.Microsecond) },
		"a timeout":                func(d *draft) { d.timeout = time.Second },
		"another timeout":          func(d *draft) { d.timeout = 2 * time.Second },
		"an expiry like a timeout": func(d *draft) { d.expiresAt = time.UnixMicro(int64(time.Second)) },
	}
	seen := make(map[[sha256.Size]byte]string)
	for name, change := range changes {
		fingerprint := sealed(t, change)
		require.Empty(t, seen[fingerprint], "%s looks like it", name)
		seen[fingerprint] = name
	}
	for name, change := range map[string]func(*draft){
		"another order of keys":   func(d *draft) { d.payload = jsonvalue.Object(`{"a":1.0}`) },
		"another id":              func(d *draft) { d.id = newMessageID() },
		"by reply":                func(d *draft) { d.replying = true },
		"from another connection": func(d *draft) { d.traceID, d.by = "t", caller.Caller{Agent: "alice", KeyID: "other"} },
	} {
		require.Equal(t, "the first", seen[sealed(t, change)], name)
	}
	require.Equal(t, sealed(t, func(d *draft) { d.metadata = nil }),
		sealed(t, func(d *draft) { d.metadata = jsonvalue.Object("{}") }), "absent metadata are empty ones")
}

// Whatever two lists of texts are, they hash alike only if they are the same.
func TestFingerprintOfFieldsIsUnambiguous(t *testing.T) {
	short := rapid.StringMatching(`[ab]{0,3}`)
	rapid.Check(t, func(t *rapid.T) {
		one := []string{short.Draw(t, "target"), short.Draw(t, "correlation")}
		other := []string{short.Draw(t, "target"), short.Draw(t, "correlation")}
		fingerprint := func(fields []string) [sha256.Size]byte {
			return sealed(t, func(d *draft) { d.target, d.correlationID = fields[0], fields[1] })
		}
		same := one[0] == other[0] && one[1] == other[1]
		require.Equal(t, same, fingerprint(one) == fingerprint(other), "%q and %q", one, other)
	})
}

func TestDraftWithoutKeyIsNotSealed(t *testing.T) {
	require.Zero(t, sealed(t, func(d *draft) { d.key = "" }))
}

func TestScopesAreApart(t *testing.T) {
	byID, byName := draft{channelID: "talk"}, draft{name: "talk"}
	require.NotEqual(t, byID.scope(), byName.scope())
}
