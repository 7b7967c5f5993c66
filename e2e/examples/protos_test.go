package examples

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

// The script itself compiles both forms and compares them.
func TestTheProtosForOtherLanguages(t *testing.T) {
	p := place{folder: t.TempDir()}
	p.output(t, "tar xzf "+packaged(t, "scripts/package-protos.sh", t.TempDir())+" --strip-components=1")
	plain, err := os.ReadFile(filepath.Join(p.folder, "plain/openintent/v1/messages.proto"))
	require.NoError(t, err)
	require.Contains(t, string(plain), "rpc Ask(AskRequest) returns (Message);")
	require.Contains(t, string(plain), "[deprecated = true]")
	require.NotContains(t, string(plain), "validate")
	require.NotContains(t, string(plain), "google.api")

	written, err := os.ReadFile(filepath.Join(p.folder, "openintent.binpb"))
	require.NoError(t, err)
	var set descriptorpb.FileDescriptorSet
	require.NoError(t, proto.Unmarshal(written, &set))
	packages := make(map[string]string)
	for _, file := range set.GetFile() {
		packages[file.GetPackage()] = file.GetOptions().GetJavaPackage() + " " + file.GetOptions().GetCsharpNamespace()
	}
	require.Equal(t, "org.openintent.v1 OpenIntent.V1", packages["openintent.v1"])
	require.Contains(t, packages, "google.protobuf", "with what they import")
}
