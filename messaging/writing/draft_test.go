package writing

import (
	"crypto/sha256"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"openintent/internal/caller"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/internal/jsonvalue"
	"openintent/messaging/message"
)

var someTime = time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)

const someMessageID = "msg_01ARZ3NDEKTSV4RRFFQ69G5FAV"

func draftBy(sender string) *Draft {
	return &Draft{Sender: sender, By: caller.Caller{Agent: sender}, payload: jsonvalue.Object("{}"), MessageType: message.TypeNotify}
}

func TestDraftRulesOfTypeTargetAndCorrelation(t *testing.T) {
	long := strings.Repeat("é", 256)
	for _, row := range []struct {
		kind        message.Type
		target      string
		correlation string
		badField    string // empty: accepted
	}{
		{message.TypeRequest, "bob", "", ""},
		{message.TypeRequest, "role:tester", "", ""},
		{message.TypeRequest, "role:a/b", "", ""},    // a role's id is not an agent's
		{message.TypeRequest, "role:system", "", ""}, // nor are agents' reserved names reserved for roles
		{message.TypeRequest, long, "", ""},
		{message.TypeRequest, "", "", "to"},
		{message.TypeRequest, "*", "", "to"},
		{message.TypeRequest, "alice", "", "to"},
		{message.TypeRequest, "role:", "", "to"},
		{message.TypeRequest, "role:a\x07", "", "to"},
		{message.TypeRequest, "a/b", "", "to"},
		{message.TypeRequest, "a\x00b", "", "to"},
		{message.TypeRequest, "system", "", "to"},
		{message.TypeRequest, "operator", "", "to"},
		{message.TypeRequest, long + "x", "", "to"},
		{message.TypeRequest, "bob", someMessageID, "correlation_id"},
		{message.TypeNotify, "", "", ""},
		{message.TypeNotify, "*", "", ""},
		{message.TypeNotify, "bob", "", ""},
		{message.TypeNotify, "role:tester", "", ""},
		{message.TypeNotify, "alice", "", "to"},
		{message.TypeNotify, "", someMessageID, "correlation_id"},
		{message.TypeBroadcast, "", "", ""},
		{message.TypeBroadcast, "*", "", ""},
		{message.TypeBroadcast, "bob", "", "to"},
		{message.TypeBroadcast, "role:tester", "", "to"},
		{message.TypeBroadcast, "", someMessageID, "correlation_id"},
		{message.TypeResponse, "", someMessageID, ""},
		{message.TypeResponse, "bob", someMessageID, ""},
		{message.TypeResponse, "", "", "correlation_id"},
		{message.TypeResponse, "bob", "", "correlation_id"},
	} {
		d := draftBy("alice")
		d.MessageType, d.Target, d.CorrelationID = row.kind, row.target, row.correlation
		err := d.Check(1 << 10)
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
	d.MessageType = message.TypeBroadcast
	require.NoError(t, d.Check(1<<10))
	require.Equal(t, "*", d.Target)

	d = draftBy("alice")
	require.NoError(t, d.Check(1<<10))
	require.Empty(t, d.Target, "a notify keeps an absent address")
}

func TestPayloadAndMetadataAreBoundedTogether(t *testing.T) {
	object := func(size int) jsonvalue.Object {
		return jsonvalue.Object(`{"a":"` + strings.Repeat("x", size-8) + `"}`)
	}
	d := draftBy("alice")
	d.payload, d.metadata = object(60), object(40)
	require.Equal(t, 100, len(d.payload)+len(d.metadata))
	require.NoError(t, d.Check(100))
	require.Equal(t, "payload", faulttest.Require(t, d.Check(99), fault.TooLarge, "PAYLOAD_TOO_LARGE").Fields[0].Path)
	d.payload, d.metadata = d.metadata, d.payload
	require.Equal(t, "metadata", faulttest.Require(t, d.Check(99), fault.TooLarge, "PAYLOAD_TOO_LARGE").Fields[0].Path)
}

func TestNamesThatOnlyTheOperatorCanGive(t *testing.T) {
	for name, accepted := range map[string]bool{
		"bob": true, "operator": true, "system": false, "*": false, "role:x": false, "a/b": false, "a\x00": false, "a\nb": false,
	} {
		d := draftBy(name)
		d.By = caller.Caller{Agent: caller.Operator, IsOperator: true}
		if accepted {
			require.NoError(t, d.Check(100), name)
		} else {
			faulttest.RequireBadField(t, d.Check(100), "sender")
		}
	}
}

func TestIdempotencyKeyIsText(t *testing.T) {
	d := draftBy("alice")
	d.Key = "a\x00b"
	faulttest.RequireBadField(t, d.Check(100), "idempotency_key")
}

func sealed(t require.TestingT, change func(*Draft)) [sha256.Size]byte {
	d := &Draft{
		ID: message.NewID(), MessageType: message.TypeRequest, Target: "bob", Key: "k", Sender: "alice",
		payload: jsonvalue.Object(`{"a":1}`), metadata: jsonvalue.Object(`{"b":2}`),
	}
	change(d)
	require.NoError(t, d.Seal())
	return d.fingerprint
}

func TestFingerprintTellsMessagesApart(t *testing.T) {
	changes := map[string]func(*Draft){
		"the first":                func(*Draft) {},
		"another type":             func(d *Draft) { d.MessageType = message.TypeNotify },
		"another target":           func(d *Draft) { d.Target = "rob" },
		"no target":                func(d *Draft) { d.Target = "" },
		"a correlation":            func(d *Draft) { d.CorrelationID = someMessageID },
		"target and correlation":   func(d *Draft) { d.Target, d.CorrelationID = "bo", "b" },
		"correlation for target":   func(d *Draft) { d.Target, d.CorrelationID = "", "bob" },
		"another payload":          func(d *Draft) { d.payload = jsonvalue.Object(`{"a":2}`) },
		"another metadata":         func(d *Draft) { d.metadata = jsonvalue.Object(`{"b":1}`) },
		"payload and metadata":     func(d *Draft) { d.payload, d.metadata = d.metadata, d.payload },
		"everything in metadata":   func(d *Draft) { d.payload, d.metadata = nil, jsonvalue.Object(`{"a":1,"b":2}`) },
		"an expiry":                func(d *Draft) { d.ExpiresAt = someTime },
		"another expiry":           func(d *Draft) { d.ExpiresAt = someTime.Add(time.Microsecond) },
		"a timeout":                func(d *Draft) { d.Timeout = time.Second },
		"another timeout":          func(d *Draft) { d.Timeout = 2 * time.Second },
		"an expiry like a timeout": func(d *Draft) { d.ExpiresAt = time.UnixMicro(int64(time.Second)) },
	}
	seen := make(map[[sha256.Size]byte]string)
	for name, change := range changes {
		fingerprint := sealed(t, change)
		require.Empty(t, seen[fingerprint], "%s looks like it", name)
		seen[fingerprint] = name
	}
	for name, change := range map[string]func(*Draft){
		"another order of keys":   func(d *Draft) { d.payload = jsonvalue.Object(`{"a":1.0}`) },
		"another id":              func(d *Draft) { d.ID = message.NewID() },
		"by reply":                func(d *Draft) { d.Replying = true },
		"from another connection": func(d *Draft) { d.TraceID, d.By = "t", caller.Caller{Agent: "alice", KeyID: "other"} },
	} {
		require.Equal(t, "the first", seen[sealed(t, change)], name)
	}
	require.Equal(t, sealed(t, func(d *Draft) { d.metadata = nil }),
		sealed(t, func(d *Draft) { d.metadata = jsonvalue.Object("{}") }), "absent metadata are empty ones")
}

// Whatever two lists of texts are, they hash alike only if they are the same.
func TestFingerprintOfFieldsIsUnambiguous(t *testing.T) {
	short := rapid.StringMatching(`[ab]{0,3}`)
	rapid.Check(t, func(t *rapid.T) {
		one := []string{short.Draw(t, "target"), short.Draw(t, "correlation")}
		other := []string{short.Draw(t, "target"), short.Draw(t, "correlation")}
		fingerprint := func(fields []string) [sha256.Size]byte {
			return sealed(t, func(d *Draft) { d.Target, d.CorrelationID = fields[0], fields[1] })
		}
		same := one[0] == other[0] && one[1] == other[1]
		require.Equal(t, same, fingerprint(one) == fingerprint(other), "%q and %q", one, other)
	})
}

func TestDraftWithoutKeyIsNotSealed(t *testing.T) {
	require.Zero(t, sealed(t, func(d *Draft) { d.Key = "" }))
}

func TestScopesAreApart(t *testing.T) {
	byID, byName := Draft{ChannelID: "talk"}, Draft{Name: "talk"}
	require.NotEqual(t, byID.Scope(), byName.Scope())
}
