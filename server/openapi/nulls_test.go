package openapi

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"openintent/server/jsonform"
)

// What is claimed of a field that could not be null anyway claims nothing.
func TestWhatIsAlwaysSetCouldBeNull(t *testing.T) {
	for message, fields := range alwaysSet {
		found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName("openintent.v1." + message))
		require.NoError(t, err)
		for _, name := range fields {
			field := found.(protoreflect.MessageDescriptor).Fields().ByName(protoreflect.Name(name))
			require.NotNil(t, field, "%s.%s", message, name)
			require.True(t, field.HasPresence(), "%s.%s", message, name)
			require.False(t, jsonform.LeftOutWhenUnset(field), "%s.%s", message, name)
		}
	}
}
