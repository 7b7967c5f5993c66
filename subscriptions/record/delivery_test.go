package record

import (
	"testing"
	"time"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
)

// A delivery waits no longer than it can have to.
func TestAWaitHasCome(t *testing.T) {
	const aDay = 24 * time.Hour
	now := time.Unix(1_000_000, 0)
	for after, come := range map[time.Duration]bool{
		-aDay: true, 0: true, time.Microsecond: false, longestWait: false, longestWait + time.Microsecond: true, aDay: true,
	} {
		require.Equal(t, come, hasCome(now.Add(after), now), after)
	}
	field := new(openintentv1.CreateSubscriptionRequest).ProtoReflect().Descriptor().Fields().ByName("acknowledge_seconds")
	rules := proto.GetExtension(field.Options(), validate.E_Field).(*validate.FieldRules)
	require.LessOrEqual(t, time.Duration(rules.GetInt32().GetLte())*time.Second, longestWait, "a consumer may take so long to acknowledge")
}
